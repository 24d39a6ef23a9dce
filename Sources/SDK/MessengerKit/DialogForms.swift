public import PluginSDK
internal import RelayConcurrency

/// The way a question is shown at a service that has buttons.
public enum DialogChoices: Sendable, Equatable {
  /// Rows of buttons, as the host has arranged them.
  case buttons([[Button]])
  /// A menu of options: there are more answers than `maximumButtons`.
  case menu([Button])
  /// A button that opens a form: the question wants text.
  case form(Button)

  /// The beginning of the id of a form's button; the dialog's id follows. The host's own ids of buttons are opaque and
  /// stay as they are: `ButtonLimits.idLength` says how long they may be.
  public static let formPrefix = "form:"

  /// Chooses the way for a question.
  ///
  /// - Parameters:
  ///   - maximumButtons: the most answers that are shown as buttons; more become a menu.
  ///   - maximumOptions: the most options of a menu; with more answers they are buttons after all.
  public init(_ dialog: DialogShow, maximumButtons: Int, maximumOptions: Int) {
    let all = (dialog.buttons ?? []).flatMap(\.self)
    if all.count > maximumButtons, all.count <= maximumOptions {
      self = .menu(all)
    } else if all.isEmpty, dialog.wantsText {
      self = .form(Button(id: Self.formPrefix + dialog.dialog, label: "Answer…", style: .primary))
    } else {
      self = .buttons(dialog.buttons ?? [])
    }
  }

  /// The dialog whose form a button opens; `nil` for every other button.
  public static func dialog(ofForm id: String) -> String? {
    id.hasPrefix(formPrefix) ? String(id.dropFirst(formPrefix.count)) : nil
  }
}

/// The contents of a form with one field.
public struct DialogForm: Sendable, Equatable {
  /// The form's title; a service may have to cut it.
  public var title: String
  /// The text that the field begins with; `nil` for an empty one.
  public var prefill: String?
  /// The field has several lines.
  public var isLong: Bool

  /// The form of a question that wants text; its title is the question's first line.
  public init(_ dialog: DialogShow) {
    title = String(dialog.text.prefix { $0 != "\n" })
    prefill = dialog.prefill
    isLong = dialog.kind == .editor
  }

  /// Makes the form of a question that is no longer known.
  public init(title: String) {
    self.title = title
    isLong = true
  }
}

/// Forms of open questions, for services that show a form only when somebody presses a button. The last 200 are kept, in memory.
public final class OpenForms: Sendable {
  private static let maximumForms = 200
  /// Newest last.
  private let forms = Locked<[(dialog: String, form: DialogForm)]>([])

  public init() {}

  /// Remembers the form of a question that wants text; other questions have none.
  public func remember(_ dialog: DialogShow) {
    guard dialog.wantsText else { return }
    forms.withLock { forms in
      forms.append((dialog.dialog, DialogForm(dialog)))
      if forms.count > Self.maximumForms { forms.removeFirst() }
    }
  }

  /// The form of a question; an empty form where it is not known, as after a restart.
  public func form(of dialog: String) -> DialogForm {
    forms.withLock { $0.last { $0.dialog == dialog }?.form } ?? DialogForm(title: "Question")
  }
}

extension DialogShow {
  fileprivate var wantsText: Bool { kind == .input || kind == .editor }
}
