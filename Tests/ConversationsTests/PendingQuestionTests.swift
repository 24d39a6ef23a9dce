import Approvals
import PiRPC
import RelayJSON
import RelayModel
import RelayWire
import SessionStates
import Testing

@testable import Conversations
@testable import RelayText

@Suite struct PendingQuestionTests {
  private func record(
    _ id: String = "pi", title: String, _ options: [String] = ["Red", "7 days"], isFromSupervisor: Bool = false
  ) -> PendingQuestion {
    PendingQuestion(
      id: "1", session: "s", dialog: PiDialog(id: id, kind: .select, title: title, options: options),
      isFromSupervisor: isFromSupervisor,
      expires: nil)
  }

  @Test func `a question with options takes an option, its number, or free text`() {
    let record = record(title: "Which?")
    #expect(record.read("1") == .answer(.value("Red"), label: "Red"))
    #expect(record.read(" 2. ") == .answer(.value("7 days"), label: "7 days"))
    #expect(record.read("RED") == .answer(.value("Red"), label: "Red"))
    #expect(
      record.read("Dark purple,\nplease") == .answer(.value("Dark purple,\nplease"), label: "Dark purple,\nplease"))
    #expect(record.read("3 days") == .answer(.value("3 days"), label: "3 days"))
    #expect(record.read("/cancel") == .answer(.cancelled, label: "cancelled"))
    for number in ["0", "3", "-1", "99.", "\(Int.min)"] {
      guard case .unclear = record.read(number) else {
        Issue.record("\(number) was taken for an answer")
        continue
      }
    }
  }

  @Test func `a button whose number no question has is no longer valid`() {
    let record = record("q", title: "Which?", ["a", "b"])
    for number in [Int.min, -1, 0, 3, Int.max] {
      #expect(record.read(button: number) == .unclear(hint: "That button is no longer valid."))
    }
  }

  @Test func `a question of the relay takes its options only`() {
    let record = record(title: "Run again?", ["Run again", "Drop"], isFromSupervisor: true)
    guard case .unclear(let hint) = record.read("perhaps later") else {
      Issue.record("it was taken for an answer")
      return
    }
    #expect(hint == "Reply with a number from 1 to 2, or /cancel.")
    #expect(record.question(in: "plain", through: Redactor([])).hasSuffix("\nReply with a number."))
  }

  private func approval(of summary: String) -> PendingQuestion {
    let approval = ApprovalQuestion(
      id: "a_1", requester: Requester(conversation: ConversationKey(instance: "m", conversation: "c"), person: "ann"),
      requesterName: "Ann", offer: ApprovalOffer(session: false, persistent: false), summary: summary)
    let dialog = PiDialog(
      id: "a_1", kind: .select, title: "Approval needed", message: "Why.", options: ["Approve once", "Deny"])
    return PendingQuestion(
      id: "a_1", session: "s", dialog: dialog, isFromSupervisor: true, expires: nil, approval: approval)
  }

  @Test func `a call in question is shown sign by sign, and is answered by its id`() throws {
    let record = approval(of: "echo ```**x**```\nls")
    #expect(
      record.question(in: "discord", through: Redactor([])) == """
        ❓ **Approval needed**
        ```
        echo \'\'\'**x**\'\'\'
        ls
        ```
        Why.
        To answer in words:
        `relay approval approve a_1`
        `relay approval deny a_1`
        """)
    #expect(
      record.closing(.unanswered(why: "denied: too late"), through: Redactor([]))
        == "✖ Approval needed: echo ```**x**``` ls — denied: too late")
    let copy = try JSONCoding.decode(PendingQuestion.self, from: JSONCoding.encode(record))
    #expect(copy == record && copy.approval?.requester.person == "ann")
  }

  @Test func `the title is bold on platforms that have bold, whatever the title contains`() {
    func title(_ text: String, in dialect: String = "discord") -> String {
      record(title: text, []).question(in: dialect, through: Redactor(["ACME_[0-9]+"]))
        .split(separator: "\n", omittingEmptySubsequences: false).dropLast().joined(separator: "\n")
    }
    #expect(title("Which?") == "❓ **Which?**")
    #expect(title("Which?", in: "plain") == "❓ Which?")
    #expect(title(" **Run** `rm *` in snake_case? ") == #"❓ **\*\*Run\*\* \`rm \*\` in snake_case?**"#)
    #expect(title("_x_ ~~y~~ ||z|| \\") == #"❓ **\_x\_ \~\~y\~\~ \|\|z\|\| \\**"#)
    #expect(title("Run this?\nrm -r *") == "❓ **Run this?**\nrm -r *")
    #expect(title("Use ACME_123?") == #"❓ **Use [redacted]?**"#)
    #expect(title("") == "❓ ")
  }

  @Test func `a question is redacted before it is cut`() {
    let redaction = Redactor(["ACME-[0-9]{6}"])
    let title = String(repeating: "x", count: 112) + " ACME-123456"
    let dialog = PiDialog(
      id: "1", kind: .select, title: title, options: [String(repeating: "y", count: 70) + " ACME-654321"])
    let record = PendingQuestion(id: "1", session: "s", dialog: dialog, isFromSupervisor: false, expires: nil)
    let limits = ButtonLimits(rows: 1, perRow: 5, labelLength: 80, idLength: 100)
    let labels = record.buttons(within: limits, through: redaction)?.joined().map(\.label) ?? []
    let closings = [
      record.closing(.unanswered(why: "asked again"), through: redaction),
      record.closing(.answered(title, by: "Ann"), through: redaction),
    ]
    #expect(redaction.line("ACME-\u{200B}123456\tACME-\n654321") == "[redacted] ACME- 654321")
    for text in labels + closings { #expect(!text.contains("ACME"), "\(text)") }
    #expect(labels == [String(repeating: "y", count: 70) + " [redacted"])
  }
}
