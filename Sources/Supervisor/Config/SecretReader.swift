internal import FoundationEssentials
internal import Glibc
internal import RelayConcurrency
internal import RelayJSON

/// Resolves references to secrets in a plugin's own settings, however deep: `tokenEnv: NAME` and `tokenFile: PATH`
/// stand for `token`.
final class SecretReader {
  private let environment: [String: String]
  private let context: SettingsReader.Context
  /// Variables that hold secrets: agents do not see them.
  private(set) var variables: Set<String> = []

  init(environment: [String: String], context: SettingsReader.Context) {
    self.environment = environment
    self.context = context
  }

  /// - Returns: the settings, and whether they contain a secret literally.
  func resolve(_ entries: [YAMLNode.Entry]) -> (settings: [String: JSONValue], hasLiteral: Bool) {
    var settings: [String: JSONValue] = [:]
    var hasLiteral = false
    for entry in entries {
      if let (key, secret) = reference(entry) {
        settings[key] = .string(secret)
      } else if case .mapping(let inner, _) = entry.value {
        let resolved = resolve(inner)
        settings[entry.key] = .object(resolved.settings)
        if resolved.hasLiteral { hasLiteral = true }
      } else {
        settings[entry.key] = entry.value.json
        if ConfigReader.isSecret(entry.key) { hasLiteral = true }
      }
    }
    return (settings, hasLiteral)
  }

  private func reference(_ entry: YAMLNode.Entry) -> (String, String)? {
    guard case .scalar(let reference, _, let mark) = entry.value else { return nil }
    if entry.key.hasSuffix("Env"), ConfigReader.isSecret(String(entry.key.dropLast(3))) {
      variables.insert(reference)
      guard let value = environment[reference], !value.isEmpty else {
        context.complain(mark, "\(entry.key): the environment variable \(reference) is not set")
        return nil
      }
      return (String(entry.key.dropLast(3)), value)
    }
    if entry.key.hasSuffix("File"), ConfigReader.isSecret(String(entry.key.dropLast(4))) {
      return file(entry.key, ConfigReader.expandTilde(reference), mark).map { (String(entry.key.dropLast(4)), $0) }
    }
    return nil
  }

  private func file(_ key: String, _ path: String, _ mark: Mark) -> String? {
    guard access(path, R_OK) == 0 else {
      context.complain(mark, "\(key): \(path) cannot be read: \(SystemError.reason())")
      return nil
    }
    guard let data = FileManager.default.contents(atPath: path) else {
      context.complain(mark, "\(key): \(path) is no file")
      return nil
    }
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & 0o077 != 0 {
      context.warnings.append("\(path) holds a secret and others may read it; run: chmod 600 \(path)")
    }
    return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
  }
}
