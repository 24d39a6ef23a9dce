internal import FoundationEssentials
internal import Glibc
internal import RelayJSON
internal import RelayWire

/// Messengers that variables set up by themselves, as pidash does: `KIND_BOT_TOKEN` and `KIND_ALLOWED_USERS`, in the
/// environment or in `~/.pi/kind.env`. The environment goes before the file, and relay.yaml before both.
struct EnvironmentMessengers {
  private static let token = "_BOT_TOKEN"
  private static let users = "_ALLOWED_USERS"

  private let environment: [String: String]
  private(set) var warnings: [String] = []
  private var variables: [String: String] = [:]

  init(_ environment: [String: String]) {
    self.environment = environment
    if let home = environment["HOME"] { readFiles(in: home + "/.pi") }
    for (name, value) in environment where Self.kind(name) != nil { variables[name] = value }
  }

  private mutating func readFiles(in folder: String) {
    // Most people have no such folder.
    guard access(folder, F_OK) == 0 else { return }
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      warnings.append("\(folder) cannot be read, so no .env file of a bot is; check its permissions")
      return
    }
    for name in names.sorted() where name.hasSuffix(".env") {
      let path = "\(folder)/\(name)"
      guard let data = FileManager.default.contents(atPath: path) else {
        warnings.append("\(path) cannot be read")
        continue
      }
      let own = name.dropLast(4).uppercased()
      let found = Self.variables(in: String(decoding: data, as: UTF8.self))
        .filter { $0.key == own + Self.token || $0.key == own + Self.users }
      variables.merge(found) { $1 }
      var status = stat()
      if found[own + Self.token] != nil, stat(path, &status) == 0, status.st_mode & 0o077 != 0 {
        warnings.append("\(path) holds a secret and others may read it; run: chmod 600 \(path)")
      }
    }
  }

  /// Lines of `KEY=value`, as a shell might read them: `export`, quotes, comments and CRLF are understood.
  static func variables(in text: String) -> [String: String] {
    text.split(whereSeparator: \.isNewline).reduce(into: [:]) { variables, line in
      var line = line.trimmed
      if line.hasPrefix("export ") { line = line.dropFirst(7).trimmed }
      guard !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") else { return }
      var value = line[line.index(after: equals)...].trimmed
      if value.count >= 2, let quote = value.first, quote == value.last, quote == "\"" || quote == "'" {
        value = value.dropFirst().dropLast()
      } else if let comment = value.firstRange(of: " #") {
        value = value[..<comment.lowerBound].trimmed
      }
      variables[String(line[..<equals].trimmed)] = String(value)
    }
  }

  private static func kind(_ variable: String) -> String? {
    for ending in [token, users] where variable.hasSuffix(ending) {
      let kind = variable.dropLast(ending.count).lowercased()
      return MessengerReader.isName(kind) ? kind : nil
    }
    return nil
  }

  /// Adds what the variables set up and the file does not.
  func apply(to loaded: inout ConfigReader.Loaded) {
    for (name, value) in variables.sorted(by: { $0.key < $1.key }) where name.hasSuffix(Self.token) {
      guard let kind = Self.kind(name), case let token = value[...].trimmed, !token.isEmpty else { continue }
      // Agents must not see what sets up a messenger.
      if environment[name] != nil { loaded.config.secretVariables.insert(name) }
      let people = (variables[name.dropLast(Self.token.count) + Self.users] ?? "").split(separator: ",")
        .map { String($0.trimmed.filter { $0 != "\"" && $0 != "'" }) }.filter { !$0.isEmpty }
      if let index = loaded.config.messengers.firstIndex(where: { $0.kind == kind && $0.instance == "default" }) {
        fill(&loaded.config.messengers[index], String(token), people)
      } else if !loaded.config.messengers.contains(where: { $0.kind == kind }) {
        var messenger = loaded.implied
        messenger.kind = kind
        fill(&messenger, String(token), people)
        loaded.config.messengers.append(messenger)
        loaded.places[messenger.name] = loaded.impliedPlaces
      }
    }
    loaded.warnings += warnings
  }

  private func fill(_ messenger: inout Config.Messenger, _ token: String, _ people: [String]) {
    guard case .object(var settings) = messenger.settings, settings["token"] == nil else { return }
    settings["token"] = .string(token)
    messenger.settings = .object(settings)
    if messenger.access.admitsNobody { messenger.access.users = Set(people) }
  }
}

extension Substring {
  fileprivate var trimmed: Substring {
    let isBlank: (Character) -> Bool = \.isWhitespace
    guard let first = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
      return self[endIndex...]
    }
    return self[first...last]
  }
}
