import FoundationEssentials
import RelayWire
import Testing

@testable import ChatCommands
@testable import RelayModel

@Suite struct SessionMenuTests {
  private let limits = ButtonLimits(rows: 5, perRow: 5, labelLength: 80, idLength: 100)

  private func sessions(_ count: Int, name: String = "project") -> [SessionStatus] {
    (0..<count).map { number in
      SessionStatus(
        id: UUID().uuidString.lowercased(), name: "\(name)-\(number)", directory: "/", activity: .idle,
        model: String(repeating: "m", count: 200), pid: nil, queued: 0, openDialogs: 0, sessionFile: nil, restarts: 0,
        isDemo: false)
    }
  }

  @Test(arguments: [1, 20, 21, 24, 25, 26, 41, 100])
  func `every session has a button on some page, and every page fits Discord's limits`(count: Int) throws {
    let all = sessions(count, name: String(repeating: "long ", count: 8))
    var seen: Set<String> = []
    var page = 1
    while true {
      let menu = SessionMenu(sessions: all, current: all[0].id, page: page, limits: limits)
      let rows = try #require(menu.buttons)
      #expect(rows.count <= 5 && rows.allSatisfy { (1...5).contains($0.count) })
      #expect(rows.joined().allSatisfy { $0.id.utf8.count <= 100 && $0.label.utf16.count <= 80 })
      #expect(menu.text.utf16.count <= 2_000)
      seen.formUnion(rows.joined().map(\.id).filter { $0.hasPrefix("use:") })
      guard rows.joined().contains(where: { $0.label == "▶" }) else { break }
      page += 1
    }
    #expect(seen.count == count)
  }

  @Test func `without buttons the list says how to turn the page`() {
    let menu = SessionMenu(sessions: sessions(50), current: nil, page: 1, limits: nil)
    #expect(menu.buttons == nil && menu.text.contains("/sessions 2 shows more."))
  }

  @Test func `a button of a menu stands for a command, and a dialog's button does not`() {
    #expect(SessionMenu.command(ofButton: "use:abc") == "/use abc")
    #expect(SessionMenu.command(ofButton: "sessions:2") == "/sessions 2")
    #expect(SessionMenu.command(ofButton: "disconnect:") == "/disconnect")
    #expect(SessionMenu.command(ofButton: "k3b9xq2m7p:1") == nil)
  }
}

@Suite struct NewSessionTests {
  @Test func `name, folder, model and task are read from the command, with quotes respected`() {
    let wish = NewSession(#"fix it --in "/srv/my folder" --model big -- look  at -- this"#)
    #expect(wish.name == "fix it" && wish.folder == "/srv/my folder" && wish.model == "big")
    #expect(wish.task == "look  at -- this")
    #expect(NewSession("") == NewSession("   "))
    #expect(NewSession("-- task").name == nil)
  }
}
