import FoundationEssentials
import PluginSDK
import Testing

@testable import IRC

@Suite struct IRCSessionTests {
  private func settings(_ more: [String: JSONValue] = [:]) throws -> IRCSettings {
    let usual: [String: JSONValue] = ["server": "irc.test", "nick": "pibot", "channels": ["#work", "#secret key"]]
    return try IRCSettings(checked: .object(usual.merging(more) { $1 }))
  }

  private func take(_ text: String, _ session: inout IRCSession) throws -> [String] {
    session.take(try #require(IRCLine(Array(text.utf8))))
  }

  private let login: [String: JSONValue] = ["account": "pibot", "accountPassword": "secret"]

  @Test func `a session begins with the password, and joins its channels after the welcome`() throws {
    var session = IRCSession(try settings(["password": "door"]))
    #expect(session.greeting == ["PASS :door", "CAP LS 302", "NICK pibot", "USER pi-relay 0 * :pi-relay"])
    #expect(try take(":irc.test CAP * LS :multi-prefix", &session) == ["CAP END"])
    #expect(try take(":irc.test 001 pibot :Welcome", &session) == ["JOIN #work", "JOIN #secret key"])
    #expect(session.isRegistered && session.refusal == nil)
    _ = try take(":pibot!~pi@host JOIN #Work", &session)
    #expect(try take("PING :x", &session) == ["PONG :x", "JOIN #secret key"])
  }

  @Test func `available capabilities are requested, and the account is logged in to before the welcome`() throws {
    var session = IRCSession(try settings(login))
    #expect(try take("CAP * LS * :sasl=PLAIN multi-prefix", &session) == [])
    #expect(try take("CAP * LS :server-time account-tag", &session) == ["CAP REQ :account-tag sasl server-time"])
    #expect(try take("CAP pibot ACK :account-tag sasl server-time", &session) == ["AUTHENTICATE PLAIN"])
    #expect(try take("AUTHENTICATE +", &session) == ["AUTHENTICATE AHBpYm90AHNlY3JldA=="])
    #expect(try take(":irc.test 903 pibot :done", &session) == ["CAP END"])
    #expect(session.capabilities == ["account-tag", "sasl", "server-time"])
  }

  @Test func `a refused account, or a missing one that is required, ends the session`() throws {
    var session = IRCSession(try settings(login))
    _ = try take(":irc.test 904 * :SASL authentication failed", &session)
    #expect(session.refusal == "the server refuses the account: SASL authentication failed")
    session = IRCSession(try settings(login))
    _ = try take(":irc.test 001 pibot :Welcome", &session)
    #expect(session.refusal?.contains("offers no SASL") == true)
  }

  @Test func `a nick that is in use is replaced, and requested again`() throws {
    var session = IRCSession(try settings())
    #expect(try take(":irc.test 433 * pibot :in use", &session) == ["NICK pibot_"])
    #expect(try take(":irc.test 433 * pibot_ :in use", &session) == ["NICK pibot__"])
    for _ in 0..<2 { _ = try take(":irc.test 433 * x :in use", &session) }
    let nick = try #require(try take(":irc.test 433 * x :in use", &session).first)
    #expect(nick.hasPrefix("NICK pibot_") && nick.count == "NICK ".count + 9)
    _ = try take(":irc.test 001 pibot_ :Welcome", &session)
    #expect(try take("PING :x", &session).contains("NICK pibot"))
    #expect(try take(":irc.test 433 pibot_ pibot :in use", &session) == [])
    _ = try take(":pibot_!~pi@host NICK :pibot", &session)
    #expect(session.isMe("PIBOT"))
    #expect(try !take("PING :x", &session).contains("NICK pibot"))
  }

  @Test func `a line holds 512 bytes with the bot's name as others see it`() throws {
    var session = IRCSession(try settings())
    #expect(session.room(to: "#work") == 510 - ":pibot!@ PRIVMSG #work :".utf8.count - 74)
    _ = try take(":pibot!~pi@host.test JOIN #work", &session)
    #expect(session.room(to: "#work") == 510 - ":pibot!~pi@host.test PRIVMSG #work :".utf8.count)
  }

  @Test
  func `names are compared by the server's rules, and channels that cannot be joined are reported until they can`()
    throws
  {
    var session = IRCSession(try settings())
    #expect(session.fold("A[]\\~") == session.fold("a{}|^"))
    _ = try take(":irc.test 005 pibot CASEMAPPING=ascii :are supported", &session)
    #expect(session.fold("A[") == "a[" && session.fold("a{") != "a[")
    _ = try take(":irc.test 473 pibot #Work :Cannot join channel (+i)", &session)
    #expect(session.problems.values.first == "#Work cannot be joined: Cannot join channel (+i)")
    _ = try take(":irc.test 473 pibot #elsewhere :no", &session)
    #expect(session.problems.count == 1)
    _ = try take(":pibot!~pi@h JOIN #work", &session)
    #expect(session.problems.isEmpty)
    _ = try take(":op!o@h KICK #work pibot :out", &session)
    #expect(session.problems.count == 1)
  }

  @Test(
    arguments: [
      ("server", ["server": "irc.test:6697/x"]), ("nick", ["nick": "pi bot"]), ("account", ["account": "pibot"]),
      ("tls", ["tls": false, "password": "door"]), ("channels.0", ["channels": ["work"]]),
      ("masks.0", ["masks": ["ann!*@*"]]), ("masks.0", ["masks": ["*!~ann@*"]]), ("masks.0", ["masks": ["ann"]]),
    ] as [(String, [String: JSONValue])])
  func `settings that cannot work, or would admit anybody, are reported with their place`(
    path: String, more: [String: JSONValue]
  ) throws {
    let problems = try #require(throws: ConfigurationProblems.self) { try settings(more) }
    #expect(problems.problems.map(\.path) == [path])
  }

  @Test(arguments: ["*!*@home.test", "*!ann@*", "*!~ann@10.0.0.?", "ann!~ann@2001:db8::1"])
  func `a mask names a host, or a user that the server has checked`(mask: String) throws {
    #expect(try settings(["masks": [.string(mask)]]).masks == [mask])
  }
}

@Suite struct IRCSizeTests {
  /// docs/writing-a-plugin.md promises it: a second service must not cost what the first did.
  @Test func `the plugin has fewer than 600 lines`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/plugins/irc")
    var lines = 0
    for folder in ["Core", "Main"] {
      for name in try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path) {
        let text = try String(contentsOf: root.appending(path: "\(folder)/\(name)"), encoding: .utf8)
        lines += text.count { $0 == "\n" }
      }
    }
    #expect((100..<600).contains(lines))
  }
}
