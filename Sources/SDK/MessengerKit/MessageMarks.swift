public import PluginSDK

/// The marks that a bot puts on people's messages, for services that have reactions: a part of a messenger's settings.
public struct MessageMarks: Decodable, Sendable, Equatable {
  /// Put on a message once the host has stored it; empty for none, and 👀 unless set.
  public var accepted: String?
  /// Put on a message that was answered, or carried out as a command; none unless set.
  public var answered: String?
  /// Put on a message that failed or was stopped; none unless set.
  public var failed: String?

  /// Makes the marks of a messenger without settings of them.
  public init() {}

  /// The mark of a message that the host has stored; `nil` for none.
  public var afterStoring: String? { Self.mark(accepted ?? "👀") }

  /// The mark of a message that has ended; `nil` for none, and for ends that are not those of a message on the service.
  public func after(_ end: MessageSettled) -> String? {
    guard !end.isOfInteraction, !end.message.hasPrefix("heartbeat:") else { return nil }
    return switch end.outcome {
    case .answered, .handled: Self.mark(answered)
    case .failed, .stopped: Self.mark(failed)
    }
  }

  private static func mark(_ text: String?) -> String? { text?.isEmpty == false ? text : nil }
}

extension MessageSettled {
  /// Reports that this is the end of a native command or of the press of a button, not of a message.
  public var isOfInteraction: Bool { message.hasPrefix("command:") || message.hasPrefix("action:") }
}
