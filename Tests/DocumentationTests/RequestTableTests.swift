import RelayJSON
import RelayWire
import Testing

/// The table of requests in docs/plugin-protocol.md: each row is what the code reads, no more and no less.
@Suite struct RequestTableTests {
  private struct Row {
    var method: String
    var params: String
    var result: String
    var errors: String
  }

  private let text: String
  private let rows: [Row]
  private let names: [String: Form]

  init() throws {
    text = try document("docs/plugin-protocol.md")
    let section = try #require(text.components(between: "\n## Every request and its result\n", and: "\n## "))
    rows = section.split(separator: "\n").compactMap { line in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmed("` ") }
      guard line.hasPrefix("| `"), cells.count == 6 else { return nil }
      return Row(method: cells[1], params: cells[2], result: cells[3], errors: cells[4])
    }
    var names: [String: Form] = [:]
    var definition = ""
    for line in try #require(section.components(between: "```\n", and: "```")).split(separator: "\n").map(String.init)
      + ["End = any"]
    {
      if line.hasPrefix(" ") {
        definition += line
        continue
      }
      if let equals = definition.firstRange(of: " = ") {
        names[String(definition[..<equals.lowerBound])] = try Form(
          String(definition[equals.upperBound...]), names: names)
      }
      definition = line
    }
    self.names = names
  }

  private func readParams<Request: WireRequest>(_ type: Request.Type, _ params: JSONValue) throws -> JSONValue {
    let line = JSONCoding.encode(JSONValue.object(["params": params]))
    let read = try JSONCoding.decode(ParamsOf<Request>.self, from: line).params
    return try JSONCoding.decode(JSONValue.self, from: JSONCoding.encode(read))
  }

  private func readResult<Request: WireRequest>(_ type: Request.Type, _ result: JSONValue) throws -> JSONValue {
    let line = JSONCoding.encode(JSONValue.object(["result": result]))
    let read = try JSONCoding.decode(ResultOf<Request.Reply>.self, from: line).result
    return try JSONCoding.decode(JSONValue.self, from: JSONCoding.encode(read))
  }

  private func expect(
    _ form: Form, _ row: Row, _ read: (JSONValue) throws -> JSONValue, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try read(form.whole) == form.whole, "\(row.method)", sourceLocation: sourceLocation)
    for variant in form.variants where form != .object([]) {
      let isRead = (try? read(variant.value)) != nil
      #expect(isRead == variant.isValid, "\(row.method), \(variant.change)", sourceLocation: sourceLocation)
    }
  }

  @Test func `every row lists the parameters and the result that the code reads`() throws {
    for row in rows {
      let type = try #require(requests.first { $0.method == row.method }, "\(row.method)")
      try expect(try Form(row.params, names: names), row) { try readParams(type, $0) }
      try expect(try Form(row.result, names: names), row) { try readResult(type, $0) }
      #expect(row.result == type.replyForm, "\(row.method)")
    }
  }

  @Test func `every request has one row in each direction in which it is sent`() {
    #expect(Set(rows.map(\.method)) == Set(requests.map { $0.method }))
    let twice = Dictionary(grouping: rows, by: \.method).filter { $0.value.count > 1 }.keys
    #expect(Set(twice) == [Ping.method])
  }

  @Test func `every error of a row is in the table of errors`() throws {
    let errors = try #require(text.components(between: "\n## Errors\n", and: "\n## "))
    for row in rows {
      for word in row.errors.split(whereSeparator: { !$0.isNumber && $0 != "-" }) where word.hasPrefix("-3") {
        #expect(errors.contains(word), "\(row.method): \(word)")
      }
    }
  }
}

extension String {
  fileprivate func components(between start: String, and end: String) -> String? {
    guard let head = firstRange(of: start) else { return nil }
    let rest = self[head.upperBound...]
    return String(rest[..<(rest.firstRange(of: end)?.lowerBound ?? rest.endIndex)])
  }
}

extension Substring {
  fileprivate func trimmed(_ characters: String) -> String {
    var rest = self
    while let first = rest.first, characters.contains(first) { rest = rest.dropFirst() }
    while let last = rest.last, characters.contains(last) { rest = rest.dropLast() }
    return String(rest)
  }
}
