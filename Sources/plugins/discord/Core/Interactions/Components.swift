internal import RelayWire

/// Buttons, select menus and forms as Discord wants them.
///
/// https://discord.com/developers/docs/components/reference
enum Components {
  static let limits = ButtonLimits(rows: 5, perRow: 5, labelLength: 80, idLength: 100)
  /// More buttons than this are a select menu.
  private static let mostButtons = 10
  /// What a select menu holds.
  private static let mostOptions = 25
  private static let longestTitle = 45
  private static let longestPrefill = 4_000

  /// Rows of buttons.
  static func rows(_ buttons: [[Button]]?) -> JSONValue {
    .array((buttons ?? []).map { row($0.map(button)) })
  }

  /// The answers to a question: buttons while they are few, and for a question that wants text the one that opens a form.
  static func rows(of dialog: DialogShow) -> JSONValue {
    let all = (dialog.buttons ?? []).flatMap(\.self)
    if all.count > mostButtons, all.count <= mostOptions { return .array([row([selectMenu(all)])]) }
    guard all.isEmpty, dialog.kind == .input || dialog.kind == .editor else { return rows(dialog.buttons) }
    return rows([[Button(id: Interaction.formPrefix + dialog.dialog, label: "Answer…", style: .primary)]])
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
  static func form(_ form: Form, dialog: String) -> JSONValue {
    var field: [String: JSONValue] = [
      "type": 4, "custom_id": "text", "label": "Your answer", "required": false,
      "style": .integer(form.isLong ? 2 : 1),
    ]
    if let prefill = form.prefill, !prefill.isEmpty { field["value"] = .string(prefill.cut(longestPrefill)) }
    return [
      "custom_id": .string(Interaction.formPrefix + dialog),
      "title": .string(form.title.isEmpty ? "Question" : form.title.cut(longestTitle)),
      "components": .array([row([.object(field)])]),
    ]
  }

  /// What a form shows.
  struct Form: Sendable {
    var title: String
    var prefill: String?
    var isLong: Bool

    init(_ dialog: DialogShow) {
      title = String(dialog.text.prefix { $0 != "\n" })
      prefill = dialog.prefill
      isLong = dialog.kind == .editor
    }

    init(title: String) {
      self.title = title
      isLong = true
    }
  }
}

extension String {
  /// Its beginning, at most this many UTF-16 units of it: no count of Discord's is stricter.
  func cut(_ limit: Int) -> String {
    guard utf16.count > limit else { return self }
    var (end, count) = (startIndex, 0)
    for scalar in unicodeScalars {
      count += scalar.utf16.count
      if count > limit { break }
      end = unicodeScalars.index(after: end)
    }
    return String(self[..<end])
  }
}
