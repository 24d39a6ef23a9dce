internal import RelayConfig
internal import RelayWire

/// The abilities and limits of a conversation's messenger, and how the conversation is set up. A pure value.
struct MessengerProfile: Sendable {
  private(set) var capabilities: Capabilities
  private(set) var settings: ConversationOutput.Settings
  private let conversation: Conversation
  /// The connection that they were read from; `nil` while the messenger is away since the start.
  private var connection: (any AnyObject & Sendable)?

  static let defaultEditInterval: Duration = .milliseconds(800)
  static let defaultLimit = 4_000

  init(_ conversation: Conversation, _ capabilities: Capabilities, _ settings: ConversationOutput.Settings) {
    self.conversation = conversation
    self.capabilities = capabilities
    self.settings = settings
  }

  /// Reads the profile again where the messenger has connected since.
  mutating func update(
    from connection: any AnyObject & Sendable, _ capabilities: Capabilities, _ messenger: Config.Messenger?
  ) {
    guard connection !== self.connection else { return }
    self.connection = connection
    self.capabilities = capabilities
    if let messenger { settings = ConversationOutput.Settings(messenger, conversation) }
  }

  var dialect: String { capabilities.dialect ?? "plain" }
  var unit: LengthUnit { capabilities.lengthUnit ?? .utf16 }
  var editsMessages: Bool { capabilities.edit == true }
  var editsQuestions: Bool { capabilities.buttons != nil || editsMessages }
  /// Answers are shown as they grow.
  var streams: Bool { editsMessages && settings.output == .stream }

  /// The longest text of a message, with room to spare.
  var limit: Int {
    let longest = capabilities.maximumTextLength ?? Self.defaultLimit
    return max(50, longest - longest / 20)
  }

  var editInterval: Duration {
    let shortest = capabilities.minimumEditInterval.map { Duration.milliseconds($0) }
    return settings.editInterval ?? shortest ?? Self.defaultEditInterval
  }

  func fits(_ text: String, messages: Int = 1) -> Bool { unit.isWithin(messages * limit, text) }
}
