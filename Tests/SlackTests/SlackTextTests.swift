import MessengerKit
import RelayJSON
import RelayWire
import Testing

@testable import Slack

@Suite struct SlackTextTests {
  @Test(arguments: [
    ("a &lt;b&gt; &amp;amp; c", [SlackText.Piece.text("a <b> &amp; c")]),
    ("<@U1> hi", [.user("U1", label: nil), .text(" hi")]),
    ("<@U1|ann>", [.user("U1", label: "ann")]),
    ("<#C1|general>", [.channel("C1", label: "general")]),
    ("<!here> <!subteam^S1|@crew>", [.other("@here"), .text(" "), .other("@crew")]),
    ("<https://a.b/?x=1&amp;y|site>", [.other("site (https://a.b/?x=1&y)")]),
    ("<http://a.b|a.b>", [.other("http://a.b")]),
    ("<mailto:a@b.c|a@b.c>", [.other("a@b.c")]),
    ("1 < 2", [.text("1 < 2")]),
  ])
  func `a text of Slack's is read in its pieces`(text: String, pieces: [SlackText.Piece]) {
    #expect(SlackText.pieces(text) == pieces)
  }

  @Test(arguments: [
    ("# Title", "*Title*"), ("**bold** and *light*", "*bold* and _light_"), ("- one", "• one"), ("~~old~~", "~old~"),
    ("[site](https://a.b)", "<https://a.b|site>"), ("a < b & `c > **d**`", "a &lt; b &amp; `c &gt; **d**`"),
    ("```swift\nlet a = **b**\n```", "```\nlet a = **b**\n```"), ("2 * 3 * 4", "2 * 3 * 4"),
    ("a ` b **c**", "a ` b *c*"),
  ])
  func `Markdown becomes Slack's own markup`(text: String, markup: String) {
    #expect(SlackMarkdown.mrkdwn(text) == markup)
  }

  @Test func `sections hold all of a long text, 3,000 characters each`() {
    let text = (0..<400).map { "line \($0) of a long text" }.joined(separator: "\n")
    let sections = SlackMarkdown.sections(text).compactMap { $0["text"]?["text"]?.stringValue }
    #expect(sections.count > 2 && sections.allSatisfy { $0.utf16.count <= 3_000 })
    #expect(sections.joined(separator: "\n") == text)
  }

  @Test func `an agent's words mention nobody`() {
    let text = SlackMarkdown.block("<!channel> <@U1>")["text"]?.stringValue ?? ""
    #expect(!text.contains("<!") && !text.contains("<@"))
    #expect(!SlackMarkdown.mrkdwn("<!channel> <@U1>").contains("<"))
  }

  @Test func `a streamed text grows behind what is shown, and a block of code stays open`() {
    #expect(SlackStreams.growing("a\n```swift\nlet b\n```") == "a\n```swift\nlet b")
    #expect(SlackStreams.growing("a\nb") == "a\nb")
    #expect(SlackStreams.rest(of: "The quick", behind: "The") == " quick")
    #expect(SlackStreams.rest(of: "The quick", behind: "A") == nil)
  }
}

@Suite struct SlackErrorTests {
  @Test(arguments: [
    ("token_revoked", "revoked"), ("invalid_auth", "refuses the token"), ("account_inactive", "is gone"),
    ("link_disabled", "Socket Mode is switched off"),
  ])
  func `what only a person can resolve is named`(code: String, words: String) {
    let error = SlackError.read(["ok": false, "error": .string(code)], "auth.test")
    #expect(SlackError.problem(error)?.contains(words) == true)
  }

  @Test func `a missing scope is named, and does no harm to other requests`() {
    let error = SlackError.read(["ok": false, "error": "missing_scope", "needed": "files:write"], "files.info")
    #expect(SlackError.problem(error)?.contains("files:write") == true)
    guard case .forbidden(let words) = error.deliveryFailure() else {
      Issue.record("\(error)")
      return
    }
    #expect(words.contains("files:write"))
  }

  @Test func `errors of Slack's are what they mean to the host`() {
    func failure(_ code: String) -> DeliveryFailure {
      SlackError.read(["ok": false, "error": .string(code)], "chat.update").deliveryFailure()
    }
    if case .notFound = failure("message_not_found") {} else { Issue.record("message_not_found") }
    if case .forbidden = failure("is_archived") {} else { Issue.record("is_archived") }
    if case .unknownOutcome = failure("internal_error") {} else { Issue.record("internal_error") }
    if case .unauthorized = failure("token_revoked") {} else { Issue.record("token_revoked") }
  }
}

@Suite struct SlackClientTests {
  @Test func `a file is asked for with the token at Slack's own hosts alone`() {
    let client = SlackClient(api: nil, token: "xoxb-1", appToken: "xapp-1", proxy: nil)
    #expect(client.isOurs("https://files.slack.com/files-pri/T1-F1/a.txt") && client.isOurs("https://slack.com/x"))
    for url in [
      "http://files.slack.com/a", "https://slack.com.evil.example/a", "https://evilslack.com/a",
      "https://u@x.slack.com/a", "https://evil.example/?.slack.com",
    ] {
      #expect(!client.isOurs(url), "\(url)")
    }
  }

  @Test func `one of several teams of a person is enough, and no other team is`() {
    let me = SlackIdentity(["team_id": "T1", "user_id": "U0"], scopes: [])
    #expect(!me.isStranger(.init(name: "a", teams: ["T1", "T2"]), team: "T2"))
    #expect(me.isStranger(.init(name: "a", teams: ["T2"]), team: nil))
    #expect(me.isStranger(.init(name: "a"), team: "T2"))
    #expect(!me.isStranger(.init(name: "a"), team: nil))
    #expect(me.isStranger(SlackPeople.Person(["team_id": "T2", "is_stranger": true, "name": "out"]), team: "T1"))
  }
}

@Suite struct SlackStateTests {
  @Test func `marks and begun sends survive a restart`() {
    var state = SlackState(nil)
    state.seen.saw("1700000000.000200", in: "C1")
    state.begin("k1", .init(place: "C1:1", file: "F1"))
    state.begin("k2", .init(place: "C1:1", after: "1700000000.000100"))
    let later = SlackState(state.asJSON)
    #expect(later.seen["C1"] == "1700000000.000200")
    #expect(later.begun("k1")?.file == "F1" && later.begun("k2")?.after == "1700000000.000100")
  }

  @Test func `a conversation is a channel, or a channel and a thread`() {
    #expect(SlackPlace("C1:1700000000.000100").conversation.kind == .thread)
    #expect(SlackPlace("C1:1700000000.000100").conversation.parent == "C1")
    #expect(SlackPlace("D1").conversation.kind == .dm && SlackPlace("C1").conversation.kind == .channel)
    #expect(SlackPlace.isOlder("999999999.000100", than: "1700000000.000100"))
  }
}
