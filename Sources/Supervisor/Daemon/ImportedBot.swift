import RelayConfig
import RelayWire

/// Settings of the assistant bot's `bot.config.toml`, for a set-up.
struct ImportedBot {
  private let path: String
  private let configuration: BotConfiguration

  /// - Throws: everything that is wrong with the file.
  init(_ path: String, _ surroundings: CommandLineEnvironment) async throws {
    let content = try await TOMLFile.read(
      path, with: surroundings.helper("pi-relay-toml"), environment: surroundings.environment)
    self.path = path
    let folder = path.hasPrefix("/") ? path : "\(surroundings.workingDirectory)/\(path)"
    configuration = try BotConfiguration(
      content, name: path, folder: folder.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" })
  }

  /// To the questions of the set-up. The bot was heard in direct messages and where it was mentioned.
  var answers: [String: String] {
    ["token": configuration.token, "users": configuration.users.joined(separator: ","), "channels": ""]
  }

  /// Of the messenger's own settings.
  var lines: [String] {
    var lines = [
      "mentions: true", "conversations: {dm: {use: assistant}, channel: {use: assistant}, thread: {use: assistant}}",
    ]
    if let interval = configuration.editInterval { lines.append("editIntervalMilliseconds: \(interval)") }
    return lines
  }

  /// Of the section `assistant`.
  func assistant() throws -> [String] {
    try configuration.assistant.map { "\($0.key): \(try ConfigurationFile.text($0.value))" }
  }

  /// Says what was left out.
  func tell() {
    for key in configuration.unknown { print("\(path): \(key) has no meaning here and is left out") }
  }
}
