import RelayModel
import Testing

@testable import Pairings

@Suite struct PairingCodesTests {
  private var generator = SystemRandomNumberGenerator()
  private var codes = PairingCodes()
  private var void: [String] = []

  private mutating func code() -> PairingCode { PairingCode(using: &generator) }

  private static func request(_ id: String, in instance: String = "m/default", session: String? = "s1")
    -> PairingCodes.Request
  {
    PairingCodes.Request(id: id, instance: instance, session: session, label: nil)
  }

  @discardableResult
  private mutating func open(
    _ id: String, in instance: String = "m/default", session: String? = "s1", until seconds: Int = 300, at now: Int = 0
  ) -> PairingCode {
    let code = code()
    _ = codes.open(
      Self.request(id, in: instance, session: session), code, until: .seconds(seconds), now: .seconds(now))
    return code
  }

  private mutating func present(
    _ code: String, in instance: String = "m/default", by person: String = "m/default:ann", at now: Int = 1
  ) -> PairingCodes.Outcome {
    codes.present(code, in: instance, by: person, now: .seconds(now), tried: &void)
  }

  @Test mutating func `digits, digits without the sign and the token of the link name the same code`() {
    let (first, second, third) = (open("a", session: "1"), open("b", session: "2"), open("c", session: "3"))
    #expect(present(first.digits) == .active(Self.request("a", session: "1")))
    #expect(present(second.digits.filter { $0 != "-" }) == .active(Self.request("b", session: "2")))
    #expect(present(third.token) == .active(Self.request("c", session: "3")))
    #expect(third.token.utf8.count == 43)
  }

  @Test mutating func `each end of a code has its own answer`() {
    let consumed = open("consumed", session: "1")
    _ = present(consumed.digits)
    codes.end("consumed", .consumed, now: .seconds(1))
    #expect(present(consumed.digits, by: "1") == .consumed)
    let late = open("late", session: "2", until: 10)
    #expect(present(late.digits, by: "2", at: 10) == .expired)
    let replaced = open("replaced", session: "3", at: 10)
    #expect(
      codes.open(Self.request("new", session: "3"), code(), until: .seconds(300), now: .seconds(10)).replaced
        == "replaced")
    #expect(present(replaced.digits, by: "3", at: 10) == .expired)
    let denied = open("denied", session: "4", at: 10)
    codes.end("denied", .denied, now: .seconds(10))
    #expect(present(denied.digits, by: "4", at: 10) == .expired)
    let elsewhere = open("elsewhere", in: "n/default", session: "5", at: 10)
    #expect(present(elsewhere.digits, by: "5", at: 10) == .wrongMessenger)
    #expect(
      present(elsewhere.digits, in: "n/default", by: "5", at: 10)
        == .active(Self.request("elsewhere", in: "n/default", session: "5")))
    #expect(present("no-such-code", by: "6", at: 10) == .missing)
  }

  @Test mutating func `a code is replaced only by one of the same session and messenger`() {
    let first = open("a", session: "1")
    open("b", session: "2")
    open("c", in: "n/default", session: "1")
    #expect(present(first.digits) == .active(Self.request("a", session: "1")))
  }

  @Test mutating func `a code that waits for a confirmation is nobody else's, and is not used up by waiting`() {
    let code = open("a")
    #expect(present(code.digits) == .active(Self.request("a")))
    #expect(present(code.digits, by: "m/default:bob") == .reserved)
    codes.release("a")
    #expect(present(code.digits, by: "m/default:bob") == .active(Self.request("a")))
    codes.end("a", .consumed, now: .seconds(2))
    codes.release("a")
    #expect(present(code.digits) == .consumed)
  }

  @Test mutating func `five wrong codes of a person within a minute are answered, and a right one then waits`() {
    let code = open("a")
    for _ in 0..<5 { #expect(present("000") == .missing) }
    #expect(present(code.digits) == .throttled(isFirst: true))
    #expect(present(code.digits, at: 60) == .throttled(isFirst: false))
    // The same person elsewhere is another.
    #expect(present(code.digits, by: "n/default:ann", at: 60) == .active(Self.request("a")))
    codes.release("a")
    #expect(present(code.digits, at: 61) == .active(Self.request("a")))
  }

  @Test mutating func `people who take turns are throttled together`() {
    for person in 0..<20 { #expect(present("000", by: "p\(person)") == .missing) }
    let code = open("a")
    #expect(present(code.digits, by: "ann") == .throttled(isFirst: false))
    #expect(present(code.digits, by: "ann", at: 61) == .active(Self.request("a")))
  }

  @Test mutating func `the tenth wrong code makes an open one void`() {
    let code = open("a", until: 1_000)
    for number in 0..<9 { _ = present("000", by: "p\(number)") }
    #expect(void.isEmpty && codes.isOpen("a"))
    let later = open("b", session: "2", until: 1_000)
    _ = present("000", by: "p9")
    #expect(void == ["a"])
    #expect(present(code.digits) == .expired)
    #expect(present(later.digits) == .active(Self.request("b", session: "2")))
  }

  @Test mutating func `an end is forgotten after ten minutes, and only so many codes are open`() {
    let code = open("a", until: 10)
    #expect(present(code.digits, at: 10) == .expired)
    #expect(present(code.digits, at: 700) == .missing)
    for number in 0..<20 { open("n\(number)", session: "\(number)", until: 2_000, at: 700) }
    #expect(codes.open(Self.request("one more", session: "x"), code, until: .seconds(2_000), now: .seconds(700)).isFull)
  }

  @Test mutating func `a code whose confirmation is awaited outlives its time until the confirmation is over`() {
    let code = open("a", until: 10)
    _ = present(code.digits, at: 9)
    #expect(codes.expire(now: .seconds(11)).isEmpty && codes.isOpen("a"))
    codes.release("a")
    #expect(codes.expire(now: .seconds(11)) == ["a"])
  }

  @Test func `bytes are equal only where all are`() {
    #expect(isEqualInConstantTime([1, 2, 3], [1, 2, 3]))
    #expect(!isEqualInConstantTime([1, 2, 3], [1, 2, 4]))
    #expect(!isEqualInConstantTime([1, 2, 3], [0, 2, 3]))
    #expect(!isEqualInConstantTime([1, 2], [1, 2, 3]))
  }
}

@Suite struct PairingWordsTests {
  @Test(arguments: [
    ("/pair 123-456", "123-456"), ("/PAIR 123456", "123456"), ("pair 123-456", "123-456"),
    ("/start abc_DEF", "abc_DEF"),
    ("/start@relay_bot abc", "abc"), ("  /pair   123-456 ", "123-456"),
  ]) func `words that ask for a pairing`(text: String, code: String) {
    let words = PairingWords(text)
    #expect(words?.code == code && words?.isExplicit == true)
  }

  @Test(arguments: ["123-456", "123456"]) func `a code alone may also be a message`(text: String) {
    #expect(PairingWords(text).map { !$0.isExplicit && $0.code == text } == true)
  }

  @Test(arguments: [
    "", "hello", "/pair", "/start", "pair programming", "pair 12-3456", "12-3456", "1234567", "/pair 123-456 please",
    "/paired 123-456", "١٢٣-٤٥٦",
  ]) func `other messages are none`(text: String) { #expect(PairingWords(text) == nil) }
}

@Suite struct PairingBookTests {
  private static let here = ConversationKey(instance: "m/default", conversation: "dm")

  private static func pairing(
    _ session: String?, person: String = "ann", in key: ConversationKey = here, _ state: Pairing.State = .active
  ) -> Pairing {
    Pairing(
      id: "\(session ?? "-")", conversation: key, person: person, name: "Ann", session: session, state: state,
      createdAt: 1)
  }

  @Test func `rights are those of the active pairings, unless the configuration admits the person`() {
    var book = PairingBook()
    func rights(_ isConfigured: Bool = false) -> ConversationRights {
      book.rights(in: Self.here) { _ in isConfigured }
    }
    #expect(rights() == .configured)
    book.put(Self.pairing("s1"))
    #expect(rights() == .paired(sessions: ["s1"], begins: false))
    #expect(rights(true) == .configured)
    book.put(Self.pairing(nil))
    #expect(rights() == .paired(sessions: ["s1"], begins: true))
    book.put(Self.pairing("s1", .revoked))
    #expect(rights() == .paired(sessions: [], begins: true))
    book.put(Self.pairing(nil, .revoked))
    #expect(rights() == .revoked)
    book.put(Self.pairing("s1"))
    #expect(rights() == .paired(sessions: ["s1"], begins: false))
  }

  @Test func `a pairing admits its person in its conversation only`() {
    let book = PairingBook(pairings: [Self.pairing("s1")])
    #expect(book.admits("ann", in: Self.here))
    #expect(!book.admits("bob", in: Self.here))
    #expect(!book.admits("ann", in: ConversationKey(instance: "m/default", conversation: "group")))
    #expect(!book.admits("ann", in: ConversationKey(instance: "n/default", conversation: "dm")))
  }

  @Test func `trust is of one person on one messenger, and can be taken back`() {
    var book = PairingBook(trusted: [TrustedPerson(instance: "m/default", person: "ann", name: "Ann", since: 1)])
    #expect(book.trusts("ann", of: "m/default") && !book.trusts("ann", of: "n/default"))
    #expect(!book.admits("ann", in: Self.here))
    book.untrust("ann", of: "m/default")
    #expect(!book.trusts("ann", of: "m/default"))
  }
}

@Suite struct QRPictureTests {
  @Test func `a picture has a margin and its own colours on each line`() throws {
    let picture = try #require(QRPicture(of: "https://t.me/relay_bot?start=abc"))
    let size = picture.modules.count
    #expect(picture.lines.count == (size + 8 + 1) / 2)
    // The corner of each code: a dark frame around a light one.
    #expect(
      picture.modules[0].prefix(7).allSatisfy(\.self)
        && picture.modules[1].prefix(7) == [true, false, false, false, false, false, true])
    let start = "\u{1B}[38;5;16;48;5;231m"
    #expect(picture.lines.allSatisfy { $0.hasPrefix(start) && $0.hasSuffix("\u{1B}[0m") })
    #expect(picture.lines[0] == start + String(repeating: " ", count: size + 8) + "\u{1B}[0m")
    #expect(picture.lines[2].hasPrefix(start + "    █▀▀▀▀▀█"))
    #expect(QRPicture(of: String(repeating: "x", count: 5_000)) == nil)
  }
}
