internal import MessengerKit
internal import RelayJSON
internal import RelayWire

/// Buttons, select menus and forms as Discord wants them.
///
/// https://discord.com/developers/docs/components/reference
enum Components {
  static let limits = ButtonLimits(rows: 5, perRow: 5, labelLength: 80, idLength: 100)
  /// More buttons than this are a select menu.
  private static let maximumButtons = 10
  /// The most options of a select menu.
  private static let maximumOptions = 25
  private static let maximumTitle = 45
  private static let maximumPrefill = 4_000

  /// Rows of buttons.
  static func rows(_ buttons: [[Button]]?) -> JSONValue {
    .array((buttons ?? []).map { row($0.map(button)) })
  }

  /// The answers to a question: buttons while they are few, and for a question that wants text the one that opens a form.
  static func rows(of dialog: DialogShow) -> JSONValue {
    switch DialogChoices(dialog, maximumButtons: maximumButtons, maximumOptions: maximumOptions) {
    case .buttons(let buttons): rows(buttons)
    case .menu(let all): .array([row([selectMenu(all)])])
    case .form(let button): rows([[button]])
    }
  }

  private static func row(_ components: [JSONValue]) -> JSONValue { ["type": 1, "components": .array(components)] }

  private static func button(_ button: Button) -> JSONValue {
    let style: Int64 =
      switch button.style {
      case .primary, nil: 1
      case .secondary: 2
      case .success: 3
      case .danger: 4
      }
    return [
      "type": 2, "style": .integer(style), "label": .string(label(button.label)),
      "custom_id": .string(button.id),
    ]
  }

  private static func label(_ text: String) -> String { text.isEmpty ? "?" : text.cut(limits.labelLength) }

  private static func selectMenu(_ buttons: [Button]) -> JSONValue {
    [
      "type": 3, "custom_id": .string(Interaction.selectMenu), "placeholder": "Choose…",
      "options": .array(buttons.map { ["label": .string(label($0.label)), "value": .string($0.id)] }),
    ]
  }

  /// A form with one field.
  static func form(_ form: DialogForm, dialog: String) -> JSONValue {
    var field: [String: JSONValue] = [
      "type": 4, "custom_id": "text", "label": "Your answer", "required": false,
      "style": .integer(form.isLong ? 2 : 1),
    ]
    if let prefill = form.prefill, !prefill.isEmpty { field["value"] = .string(prefill.cut(maximumPrefill)) }
    return [
      "custom_id": .string(DialogChoices.formPrefix + dialog),
      "title": .string(form.title.isEmpty ? "Question" : form.title.cut(maximumTitle)),
      "components": .array([row([.object(field)])]),
    ]
  }
}
