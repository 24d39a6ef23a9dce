import MessengerKit
import PluginSDK
import Testing

@Suite struct DialogTests {
  private func dialog(_ kind: DialogShow.Kind, answers: Int = 0) -> DialogShow {
    let buttons = (0..<answers).map { [Button(id: "d:\($0)", label: "\($0)")] }
    return DialogShow(
      key: "k", conversation: "c", dialog: "d", kind: kind, text: "Which?\nReply.",
      buttons: answers > 0 ? buttons : nil,
      prefill: "as it was")
  }

  private func choices(_ dialog: DialogShow) -> DialogChoices {
    DialogChoices(dialog, maximumButtons: 10, maximumOptions: 25)
  }

  @Test func `few answers are buttons, more are a menu, and more than a menu holds are buttons again`() {
    guard case .buttons(let few) = choices(dialog(.select, answers: 10)) else { return #expect(Bool(false)) }
    #expect(few.count == 10)
    guard case .menu(let some) = choices(dialog(.select, answers: 11)) else { return #expect(Bool(false)) }
    #expect(some.map(\.id).last == "d:10")
    guard case .buttons = choices(dialog(.select, answers: 26)) else { return #expect(Bool(false)) }
  }

  @Test func `a question that wants text has a form, known by its button until newer ones replace it`() throws {
    guard case .form(let button) = choices(dialog(.editor)) else { return #expect(Bool(false)) }
    #expect(DialogChoices.dialog(ofForm: button.id) == "d")
    #expect(DialogChoices.dialog(ofForm: "d:1") == nil)
    let forms = OpenForms()
    forms.remember(dialog(.editor))
    #expect(forms.form(of: "d") == DialogForm(dialog(.editor)))
    #expect(forms.form(of: "d").title == "Which?" && forms.form(of: "d").prefill == "as it was")
    for number in 0..<200 {
      var other = dialog(.input)
      other.dialog = "\(number)"
      forms.remember(other)
    }
    #expect(forms.form(of: "d") == DialogForm(title: "Question"))
  }

  @Test func `texts are cut by the strictest count of services`() {
    #expect("abc".cut(3) == "abc" && "abcd".cut(3) == "abc")
    #expect("👩‍👩‍👧‍👦👩‍👩‍👧‍👦".cut(12).utf16.count <= 12)
    #expect("é\u{301}\u{301}\u{301}\u{301}".cut(2).utf16.count <= 2)
  }
}
