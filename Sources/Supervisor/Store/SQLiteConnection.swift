internal import CSQLite

/// An error of SQLite.
package struct SQLiteError: Error, Equatable {
  /// The extended result code.
  package let code: Int32
  package let message: String

  /// The primary result code.
  var kind: Int32 { code & 0xFF }
}

/// A connection to a database; prepared statements are kept.
///
/// `@unchecked`: each connection is used by one thread at a time.
package final class SQLiteConnection: @unchecked Sendable {
  /// A value bound to a place in a statement.
  package enum Value {
    case null
    case integer(Int)
    case real(Double)
    case text(String)
    case blob([UInt8])

    static func text(_ text: String?) -> Value { text.map(Value.text) ?? .null }
    static func real(_ number: Double?) -> Value { number.map(Value.real) ?? .null }
  }

  /// The current row of a query; valid during the call that receives it.
  package struct Row {
    fileprivate let statement: OpaquePointer

    package func integer(_ column: Int32) -> Int { Int(sqlite3_column_int64(statement, column)) }

    func real(_ column: Int32) -> Double { sqlite3_column_double(statement, column) }

    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

    package func text(_ column: Int32) -> String {
      guard let bytes = sqlite3_column_text(statement, column) else { return "" }
      let count = Int(sqlite3_column_bytes(statement, column))
      return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    package func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    var values: [Value] {
      (0..<sqlite3_column_count(statement)).map { column in
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: .integer(integer(column))
        case SQLITE_FLOAT: .real(sqlite3_column_double(statement, column))
        case SQLITE_TEXT: .text(text(column))
        case SQLITE_BLOB: .blob(blob(column))
        default: .null
        }
      }
    }

    func blob(_ column: Int32) -> [UInt8] {
      guard let bytes = sqlite3_column_blob(statement, column) else { return [] }
      return Array(UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(statement, column))))
    }
  }

  private let database: OpaquePointer
  /// By their text.
  private(set) var statements: [String: OpaquePointer] = [:]

  /// - Parameter creates: makes the database where there is none.
  package init(path: String, creates: Bool = true) throws(SQLiteError) {
    var opened: OpaquePointer?
    // Used by one thread at a time, so that SQLite need not lock.
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (creates ? SQLITE_OPEN_CREATE : 0)
    let code = sqlite3_open_v2(path, &opened, flags, nil)
    guard code == SQLITE_OK, let opened else {
      defer { sqlite3_close_v2(opened) }
      throw SQLiteError(code: code, message: opened.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory")
    }
    database = opened
    sqlite3_extended_result_codes(opened, 1)
  }

  deinit {
    for statement in statements.values { sqlite3_finalize(statement) }
    sqlite3_close_v2(database)
  }

  /// Runs statements that answer nothing and take no values.
  package func execute(_ sql: String) throws(SQLiteError) {
    try check(sqlite3_exec(database, sql, nil, nil, nil))
  }

  /// Runs one statement; answers how many rows it changed.
  @discardableResult
  func run(_ sql: String, _ values: Value...) throws(SQLiteError) -> Int { try run(sql, values) }

  @discardableResult
  func run(_ sql: String, _ values: [Value]) throws(SQLiteError) -> Int {
    try run(sql, values) { _ in }
    return Int(sqlite3_changes(database))
  }

  /// Shows all values of each row.
  func each(_ sql: String, _ body: ([Value]) -> Void) throws(SQLiteError) {
    try run(sql, []) { body($0.values) }
  }

  /// Answers what `read` makes of each row; nothing for a row of which it makes nothing.
  package func rows<Result>(_ sql: String, _ values: Value..., read: (Row) throws -> Result?) throws -> [Result] {
    var results: [Result] = []
    var failure: (any Error)?
    try run(sql, values) { row in
      guard failure == nil else { return }
      do { if let result = try read(row) { results.append(result) } } catch { failure = error }
    }
    if let failure { throw failure }
    return results
  }

  /// Takes back what `body` did if it throws.
  func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    try run("SAVEPOINT part")
    do {
      let result = try body()
      try run("RELEASE part")
      return result
    } catch {
      // Some errors end the whole transaction: there is nothing left to take back.
      guard isInTransaction else { throw error }
      try run("ROLLBACK TO part")
      try run("RELEASE part")
      throw error
    }
  }

  var isInTransaction: Bool { sqlite3_get_autocommit(database) == 0 }

  /// Writes in one step: all of it, or nothing.
  func transaction(_ body: () throws -> Void) throws {
    try run("BEGIN IMMEDIATE")
    do {
      try body()
      try run("COMMIT")
    } catch {
      if isInTransaction { try run("ROLLBACK") }
      throw error
    }
  }

  private func run(_ sql: String, _ values: [Value], _ each: (Row) -> Void) throws(SQLiteError) {
    let statement = try prepared(sql)
    defer {
      sqlite3_reset(statement)
      sqlite3_clear_bindings(statement)
    }
    for (index, value) in values.enumerated() { try bind(value, Int32(index + 1), statement) }
    while true {
      let code = sqlite3_step(statement)
      if code == SQLITE_DONE { return }
      guard code == SQLITE_ROW else { throw error(code) }
      each(Row(statement: statement))
    }
  }

  private func prepared(_ sql: String) throws(SQLiteError) -> OpaquePointer {
    if let statement = statements[sql] { return statement }
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v3(database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    guard let statement else { throw SQLiteError(code: SQLITE_MISUSE, message: "no statement in \(sql)") }
    statements[sql] = statement
    return statement
  }

  private func bind(_ value: Value, _ index: Int32, _ statement: OpaquePointer) throws(SQLiteError) {
    let code: Int32
    switch value {
    case .null: code = sqlite3_bind_null(statement, index)
    case .integer(let number): code = sqlite3_bind_int64(statement, index, Int64(number))
    case .real(let number): code = sqlite3_bind_double(statement, index, number)
    case .text(var text):
      code = text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) { bytes in
          relay_sqlite_bind_text(
            statement, index, bytes.baseAddress ?? UnsafePointer(bitPattern: 1), Int32(bytes.count))
        }
      }
    case .blob(let bytes):
      code = bytes.withUnsafeBytes { relay_sqlite_bind_blob(statement, index, $0.baseAddress, Int32($0.count)) }
    }
    try check(code)
  }

  private func check(_ code: Int32) throws(SQLiteError) {
    if code != SQLITE_OK { throw error(code) }
  }

  private func error(_ code: Int32) -> SQLiteError {
    SQLiteError(code: sqlite3_extended_errcode(database), message: String(cString: sqlite3_errmsg(database)))
  }
}
