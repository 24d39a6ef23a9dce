import FoundationEssentials
import Glibc
import RelayConcurrency
import RelayConfig
internal import RelayHome
import RelayJSON
import RelayWire

/// relay.yaml, as `setup` adds to it.
struct ConfigurationFile {
  let path: String
  let messengers: [Config.Messenger]
  /// The proxy of every messenger without one of its own.
  let proxy: String?
  private let surroundings: CommandLineEnvironment

  private static let head =
    "# pi-relay. All settings: docs/configuration.md. Check this file with: pi-relayd config check\n\n"

  /// - Throws: the mistakes of the existing file.
  init(_ surroundings: CommandLineEnvironment) throws {
    let loaded = try ConfigReader(environment: surroundings.environment).load(
      surroundings.home.configurationCandidates)
    self.surroundings = surroundings
    messengers = loaded.config.messengers
    proxy = loaded.implied.proxy
    path = loaded.path ?? surroundings.home.path + "/relay.yaml"
  }

  /// A value as YAML, of which JSON is a part.
  static func text(_ value: JSONValue) throws -> String {
    if case .array(let items) = value { return "[" + (try items.map(text)).joined(separator: ", ") + "]" }
    return String(decoding: try JSONCoding.encode(value, sorted: true), as: UTF8.self)
  }

  static func users(_ users: [String]) throws -> String {
    "auth: {users: \(try text(.array(users.map { .string($0) })))}   # who may talk to the agent; nobody while this is empty"
  }

  /// Keeps a secret in a file that nobody else may read; answers which.
  func keep(_ secret: String, as name: String) throws -> String {
    let folder = surroundings.home.path + "/secrets"
    if mkdir(folder, 0o700) != 0, errno != EEXIST { throw SystemError("cannot be made", path: folder) }
    let kept = "\(folder)/\(name)"
    try FileReplacement.write(secret + "\n", to: kept)
    return kept
  }

  /// - Parameters:
  ///   - sections: other sections that belong to it, with their lines.
  ///   - isTried: the settings are known to work.
  /// - Returns: false when the person is shown what to add instead.
  func add(
    _ messenger: String, _ instance: String, _ lines: [String], sections: [(String, [String])] = [], isTried: Bool
  ) throws -> Bool {
    // As it is now: the person may have changed it meanwhile.
    let text = FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    var changed =
      isTried || text == nil
      ? try ConfigEditor.adding(messenger, instance, settings: lines, to: text ?? Self.head) : nil
    for (section, lines) in sections {
      changed = try changed.flatMap { text in try ConfigEditor.adding(section: section, settings: lines, to: text) }
    }
    guard let new = changed else {
      print("\(path) is yours, so nothing was changed. Add this to it, then run: pi-relayd reload\n")
      for (section, lines) in sections { print((["\(section):"] + lines.map { "  \($0)" }).joined(separator: "\n")) }
      print(
        (["messengers:", "  \(messenger):", "    \(instance):"] + lines.map { "      \($0)" }).joined(separator: "\n"))
      return false
    }
    // Before the old one is replaced.
    _ = try ConfigReader(environment: surroundings.environment).read(Array(new.utf8), file: path)
    if let text { try FileReplacement.write(text, to: path + ".before-setup") }
    try FileReplacement.write(new, to: path)
    print("\(path) now sets up \(messenger)." + (text == nil ? "" : " The earlier file: \(path).before-setup"))
    print("Next: pi-relayd start (or, if it runs: pi-relayd reload), then pi-relayd status.")
    return true
  }
}
