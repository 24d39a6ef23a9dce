internal import MessengerKit
internal import PluginSDK

/// Buttons, menus and forms as Slack wants them.
///
/// https://docs.slack.dev/reference/block-kit
enum SlackBlocks {
  static let limits = ButtonLimits(rows: 5, perRow: 5, labelLength: 75, idLength: 2_000)
  /// More buttons than this are a menu.
  private static let maximumButtons = 10
  private static let maximumOptions = 100
  /// The longest value of an option; the host's ids of answers are shorter.
  private static let optionLength = 150
  private static let maximumTitle = 24
  private static let maximumPrefill = 3_000
  static let menu = "menu"

  /// Rows of buttons.
  ///
  /// - Parameter message: the id of a message that only one person sees; comes back with a press.
  static func rows(_ buttons: [[Button]]?, message: String? = nil) -> [JSONValue] {
    (buttons ?? []).filter { !$0.isEmpty }.enumerated().map { row, buttons in
      actions(buttons.enumerated().map { button($1, "b\(row).\($0)") }, message.map { "\($0)/\(row)" })
    }
  }

  /// The answers to a question: buttons while they are few, and for a question that wants text the one that opens a form.
  static func rows(of dialog: DialogShow) -> [JSONValue] {
    switch DialogChoices(dialog, maximumButtons: maximumButtons, maximumOptions: maximumOptions) {
    case .menu(let all) where all.allSatisfy({ $0.id.utf8.count <= optionLength }):
      return [
        actions(
          [
            [
              "type": "static_select", "action_id": .string(menu), "placeholder": plain("Choose…"),
              "options": .array(all.map { ["text": plain(label($0.label)), "value": .string($0.id)] }),
            ]
          ], nil)
      ]
    case .menu(let all): return rows([all])
    case .buttons(let buttons): return rows(buttons)
    case .form(let button): return rows([[button]])
    }
  }

  private static func actions(_ elements: [JSONValue], _ id: String?) -> JSONValue {
    var block: [String: JSONValue] = ["type": "actions", "elements": .array(Array(elements.prefix(25)))]
    if let id { block["block_id"] = .string(id) }
    return .object(block)
  }

  private static func button(_ button: Button, _ action: String) -> JSONValue {
    var element: [String: JSONValue] = [
      "type": "button", "action_id": .string(action), "text": plain(label(button.label)), "value": .string(button.id),
    ]
    switch button.style {
    case .primary, .success: element["style"] = "primary"
    case .danger: element["style"] = "danger"
    case .secondary, nil: break
    }
    return .object(element)
  }

  private static func label(_ text: String) -> String { text.isEmpty ? "?" : text.cut(limits.labelLength) }

  private static func plain(_ text: String) -> JSONValue { ["type": "plain_text", "text": .string(text)] }

  /// A form with one field.
  ///
  /// - Parameter place: comes back with what was written.
  static func form(_ form: DialogForm, dialog: String, place: String) -> JSONValue {
    var field: [String: JSONValue] = [
      "type": "plain_text_input", "action_id": "text", "multiline": .bool(form.isLong),
    ]
    if let prefill = form.prefill, !prefill.isEmpty { field["initial_value"] = .string(prefill.cut(maximumPrefill)) }
    return [
      "type": "modal", "callback_id": .string(DialogChoices.formPrefix + dialog), "private_metadata": .string(place),
      "title": plain(form.title.isEmpty ? "Question" : form.title.cut(maximumTitle)), "submit": plain("Send"),
      "close": plain("Cancel"),
      "blocks": [
        [
          "type": "input", "block_id": "answer", "optional": true, "label": plain("Your answer"),
          "element": .object(field),
        ]
      ],
    ]
  }
}
