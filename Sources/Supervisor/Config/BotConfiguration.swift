package import RelayJSON
internal import RelayWire

/// The `bot.config.toml` of the personal assistant bot, and what it is in relay.yaml.
package struct BotConfiguration: Sendable, Equatable {
  package private(set) var token = ""
  /// The owner first.
  package private(set) var users: [String] = []
  /// Settings of `assistant`, in order.
  package private(set) var assistant: [Setting] = []
  package private(set) var editInterval: Int?
  /// Keys that mean nothing here.
  package private(set) var unknown: [String] = []

  package struct Setting: Sendable, Equatable {
    package var key: String
    package var value: JSONValue

    package init(_ key: String, _ value: JSONValue) {
      self.key = key
      self.value = value
    }
  }

  package struct Problems: Error, Sendable, Equatable, CustomStringConvertible {
    package let lines: [String]
    package var description: String { lines.joined(separator: "\n") }
  }

  private struct Number {
    let theirs: String
    let ours: String
    /// From 0, where that switches off.
    let range: ClosedRange<Int>
  }

  private static let piNumbers = [
    Number(theirs: "session_ttl_seconds", ours: "sessionTimeoutSeconds", range: Config.Assistant.seconds),
    Number(theirs: "call_timeout_seconds", ours: "callTimeoutSeconds", range: Config.Assistant.seconds),
    Number(theirs: "session_sweeper_interval_seconds", ours: "sweepSeconds", range: Config.Assistant.seconds),
  ]
  private static let botNumbers = [
    Number(theirs: "queue_maxsize", ours: "maximumQueued", range: Config.Assistant.queueSizes),
    Number(theirs: "worker_concurrency", ours: "workers", range: Config.Assistant.workerCounts),
    Number(theirs: "heartbeat_interval_seconds", ours: "heartbeatSeconds", range: Config.Assistant.seconds),
    Number(theirs: "metrics_interval_seconds", ours: "healthSeconds", range: Config.Assistant.seconds),
    Number(theirs: "latency_window_size", ours: "latencyWindow", range: Config.Assistant.windows),
  ]

  /// - Parameters:
  ///   - file: the content of the file.
  ///   - name: the name of the file in complaints.
  ///   - folder: the folder of the file, to which its paths are relative.
  /// - Throws: all mistakes of the file.
  package init(_ file: JSONValue, name: String, folder: String) throws(Problems) {
    var reader = Reader(file: file, name: name)
    for section in ["discord", "pi", "bot"] { reader.requireSection(section, isNeeded: section != "bot") }
    token = reader.string("discord", "bot_token", isNeeded: true) ?? ""
    let owner = reader.id("discord", "bot_owner_user_id")
    users = [owner].compactMap(\.self)
    for id in reader.ids("discord", "trusted_user_ids") where !users.contains(id) { users.append(id) }
    if let owner { assistant.append(Setting("owner", .string(owner))) }
    for (theirs, ours) in [("data_dir", "directory"), ("session_root", "sessionDirectory")] {
      guard let path = reader.string("pi", theirs) else { continue }
      assistant.append(Setting(ours, .string(Self.whole(path, folder))))
    }
    if let name = reader.string("pi", "executable") {
      // A name alone is looked for on the search path.
      assistant.append(Setting("executable", .string(name.contains("/") ? Self.whole(name, folder) : name)))
    }
    for key in ["provider", "model"] {
      if let text = reader.string("pi", key) { assistant.append(Setting(key, .string(text))) }
    }
    for (section, numbers) in [("pi", Self.piNumbers), ("bot", Self.botNumbers)] {
      for number in numbers {
        guard let value = reader.number(section, number.theirs, in: number.range) else { continue }
        assistant.append(Setting(number.ours, .integer(Int64(value))))
      }
    }
    editInterval = reader.number("bot", "stream_edit_interval_ms", in: 1...60_000)
    // Each plugin's log has all there is to say.
    _ = reader.string("bot", "log_level")
    unknown = reader.rest
    guard reader.problems.isEmpty else { throw Problems(lines: reader.problems) }
  }

  private static func whole(_ path: String, _ folder: String) -> String {
    path.hasPrefix("/") || path == "~" || path.hasPrefix("~/") ? path : "\(folder)/\(path)"
  }

  /// Takes values out and notes what is wrong with them.
  private struct Reader {
    let file: JSONValue
    let name: String
    var problems: [String] = []
    private var asked: Set<String> = []

    init(file: JSONValue, name: String) {
      self.file = file
      self.name = name
    }

    mutating func requireSection(_ section: String, isNeeded: Bool) {
      switch file[section] {
      case .object: break
      case nil: if isNeeded { problems.append("\(name): the section [\(section)] is missing") }
      default: problems.append("\(name): \(section): expected a section, written [\(section)]")
      }
    }

    private mutating func value(_ section: String, _ key: String) -> JSONValue? {
      asked.insert("\(section).\(key)")
      return file[section]?[key]
    }

    private mutating func complain(_ section: String, _ key: String, _ what: String) {
      problems.append("\(name): \(section).\(key): \(what)")
    }

    mutating func string(_ section: String, _ key: String, isNeeded: Bool = false) -> String? {
      switch value(section, key) {
      case .string(let text) where !text.isEmpty: return text
      case nil, .string:
        if isNeeded, case .object = file[section] { complain(section, key, "is missing") }
      default: complain(section, key, "expected a text in quotes")
      }
      return nil
    }

    mutating func number(_ section: String, _ key: String, in range: ClosedRange<Int>) -> Int? {
      switch value(section, key) {
      case .integer(let number) where range.contains(Int(number)): return Int(number)
      case nil: break
      default: complain(section, key, "expected a whole number from \(range.lowerBound) to \(range.upperBound)")
      }
      return nil
    }

    mutating func id(_ section: String, _ key: String) -> String? {
      guard let value = value(section, key) else {
        if case .object = file[section] { complain(section, key, "is missing") }
        return nil
      }
      if let id = Self.id(value) { return id }
      complain(section, key, "expected somebody's id, a whole number above 0")
      return nil
    }

    mutating func ids(_ section: String, _ key: String) -> [String] {
      guard let value = value(section, key) else { return [] }
      guard case .array(let items) = value else {
        complain(section, key, "expected a list of ids")
        return []
      }
      let ids = items.compactMap(Self.id)
      if ids.count < items.count { complain(section, key, "expected ids, which are whole numbers above 0") }
      return ids
    }

    private static func id(_ value: JSONValue) -> String? {
      if case .integer(let number) = value, number > 0 { return String(number) }
      return nil
    }

    /// Settings that were not read.
    var rest: [String] {
      guard case .object(let sections) = file else { return [] }
      return sections.flatMap { section, value -> [String] in
        guard case .object(let entries) = value else { return [section] }
        return entries.keys.map { "\(section).\($0)" }
      }.filter { !asked.contains($0) && !["discord", "pi", "bot"].contains($0) }.sorted()
    }
  }
}
