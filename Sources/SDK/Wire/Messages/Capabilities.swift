/// Facts about a plugin. Every member is optional: a capability that is not stated is missing.
public struct Capabilities: Codable, Sendable, Equatable {
  /// Longest text of one message, counted in `lengthUnit`.
  public var maximumTextLength: Int?
  /// The unit of `maximumTextLength`; `nil` counts as `utf16`.
  public var lengthUnit: LengthUnit?
  /// Messages can be changed after sending.
  public var edit: Bool?
  /// `typing.set` is understood.
  public var typing: Bool?
  /// `thread.create` is understood.
  public var threads: Bool?
  /// `conversation.open` is understood.
  public var directMessages: Bool?
  /// `presence.set` is understood.
  public var presence: Bool?
  /// The limits of buttons; `nil`: the messenger has none, and the host asks questions in words alone.
  public var buttons: ButtonLimits?
  /// Largest file in bytes; absent: no files.
  public var maximumFileBytes: Int?
  /// Reserved.
  public var reactions: Bool?
  /// Reserved.
  public var ephemeral: Bool?
  /// The dialect `format.render` is asked for: `plain`, `discord`, `markdown`, …
  public var dialect: String?
  /// Shortest time between two edits of one message, in milliseconds.
  public var minimumEditInterval: Int?
  /// The platform refuses a second message with the same key.
  public var idempotencyKey: Bool?
  /// `message.lookup` finds a message by key.
  public var lookup: Bool?
  /// Wants the menu of commands: `commands.changed`.
  public var commandsMenu: Bool?
  /// Wants the outcome of each message: `message.settled`.
  public var outcomes: Bool?
  /// Hosts that attachments' addresses point to.
  public var attachmentHosts: [String]?
  /// Service methods this plugin answers, for example `format.render`.
  public var services: [String]?
  /// A service that keeps nothing between two requests: it may be ended while nobody needs it, and is started again when
  /// somebody does.
  public var onDemand: Bool?
  /// The address that opens a conversation with the bot and sends it a code: `{code}` stands for the code, as in
  /// `https://t.me/BOT?start={code}`. The code comes back as the message `/start CODE`.
  public var pairingLink: String?
  /// Dialects a formatter renders.
  public var dialects: [String]?

  public init() {}

  /// A messenger's usual facts.
  public static func messenger(
    maximumTextLength: Int, unit: LengthUnit = .utf16, dialect: String = "plain", edit: Bool = false
  ) -> Capabilities {
    var capabilities = Capabilities()
    capabilities.maximumTextLength = maximumTextLength
    capabilities.lengthUnit = unit
    capabilities.dialect = dialect
    capabilities.edit = edit
    return capabilities
  }
}

/// The capabilities as the host uses them.
extension Capabilities {
  /// The address for a code; `nil` where the messenger has none, or it is not one of the web with a place for the code.
  package func pairingAddress(of code: String) -> String? {
    guard let pairingLink, pairingLink.hasPrefix("https://"), pairingLink.utf8.count <= 512,
      pairingLink.contains("{code}"), pairingLink.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    return pairingLink.replacing("{code}", with: code)
  }

  /// With every number brought within what can be worked with; buttons that could hold nothing are no buttons.
  package var sensible: Capabilities {
    var sensible = self
    sensible.maximumTextLength = maximumTextLength.map { min(max($0, 50), 10_000_000) }
    sensible.minimumEditInterval = minimumEditInterval.map { min(max($0, 0), 3_600_000) }
    sensible.maximumFileBytes = maximumFileBytes.map { max($0, 0) }
    if var limits = buttons {
      limits.rows = min(limits.rows, 100)
      limits.perRow = min(limits.perRow, 100)
      limits.labelLength = min(limits.labelLength, 10_000)
      let isUsable = limits.rows > 0 && limits.perRow > 0 && limits.labelLength > 0
      sensible.buttons = isUsable && limits.idLength >= ButtonLimits.leastIDLength ? limits : nil
    }
    return sensible
  }
}

/// The unit in which the length of a text is measured.
public enum LengthUnit: String, Codable, Sendable, CaseIterable {
  case utf8, utf16, scalars, graphemes

  /// The length of a text in this unit.
  public func count(_ text: some StringProtocol) -> Int {
    switch self {
    case .utf8: text.utf8.count
    case .utf16: text.utf16.count
    case .scalars: text.unicodeScalars.count
    case .graphemes: text.count
    }
  }

  /// Reports whether a text is at most this long. Cheap for short text, whose bytes, the smallest unit, are few enough.
  public func isWithin(_ limit: Int, _ text: some StringProtocol) -> Bool {
    text.utf8.count <= limit || count(text) <= limit
  }
}

/// The limits of a messenger's buttons. The host uses none where `rows`, `perRow` or `labelLength` is less than 1, or
/// `idLength` less than 20.
public struct ButtonLimits: Codable, Sendable, Equatable {
  /// The host's ids are as long as this.
  package static let leastIDLength = 20

  /// The most rows below one message; more than 100 count as 100.
  public var rows: Int
  /// The most buttons in a row; more than 100 count as 100.
  public var perRow: Int
  /// The longest label, in characters; more than 10,000 count as 10,000.
  public var labelLength: Int
  /// The longest id of a button, in bytes of UTF-8. Menus of sessions need 40, *Run again* 6 more than the message's
  /// id.
  public var idLength: Int

  public init(rows: Int, perRow: Int, labelLength: Int, idLength: Int) {
    self.rows = rows
    self.perRow = perRow
    self.labelLength = labelLength
    self.idLength = idLength
  }
}
