internal import MessengerKit
internal import PluginSDK

/// Inline keyboards and questions as Telegram wants them.
///
/// https://core.telegram.org/bots/api#inlinekeyboardmarkup
enum Keyboards {
  /// Ids are `callback_data`: 1 to 64 bytes.
  static let limits = ButtonLimits(rows: 25, perRow: 4, labelLength: 40, idLength: 64)
  private static let maximumPlaceholder = 64

  /// Removes the keyboard of a message that is changed.
  static let none: JSONValue = ["inline_keyboard": []]

  /// Rows of buttons; `nil` for none.
  static func rows(_ buttons: [[Button]]?) -> JSONValue? {
    guard let buttons, !buttons.allSatisfy(\.isEmpty) else { return nil }
    return ["inline_keyboard": .array(buttons.map { .array($0.map(button)) })]
  }

  private static func button(_ button: Button) -> JSONValue {
    var key: [String: JSONValue] = [
      "text": .string(button.label.isEmpty ? "?" : button.label.cut(limits.labelLength)),
      "callback_data": .string(button.id),
    ]
    // Older servers pass over it.
    switch button.style {
    case .primary: key["style"] = "primary"
    case .success: key["style"] = "success"
    case .danger: key["style"] = "danger"
    case .secondary, nil: break
    }
    return .object(key)
  }

  /// The answers to a question; for one that wants text, the request to reply to it.
  static func answers(to dialog: DialogShow) -> JSONValue? {
    switch DialogChoices(dialog, maximumButtons: .max, maximumOptions: 0) {
    case .buttons(let buttons): return rows(buttons)
    case .menu(let all): return rows(all.map { [$0] })
    case .form:
      var reply: [String: JSONValue] = ["force_reply": true]
      let placeholder = dialog.prefill?.split(whereSeparator: \.isNewline).first.map(String.init) ?? "Your answer"
      if !placeholder.isEmpty { reply["input_field_placeholder"] = .string(placeholder.cut(maximumPlaceholder)) }
      return .object(reply)
    }
  }
}
