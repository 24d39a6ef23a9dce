import PiRPC
import RelayConcurrency
import RelayJSON
import RelayWire
import TestSupport
import Testing

@testable import RelayText

@Suite struct RedactorTests {
  private let usual = Redactor(["usual"])

  // Put together, so that no scanner takes them for real.
  @Test(arguments: [
    "123456789:" + "AAE9xKq0Z_abcdefghijklmnop", "sk-" + "proj-abcdefghijklmnop1234", "gh" + "p_abcdefghijklmnop1234",
    "github" + "_pat_11ABCDEFG0abcdefghijkl", "AK" + "IAIOSFODNN7EXAMPLE",
    "ey" + "JhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJ",
    "xo" + "xb-123456789012-abcdef", "M" + "TIzNDU2Nzg5MDEyMzQ1Njc4.GabcdE.abcdefghijklmnopqrstuvwxyz1",
    "Bearer " + "abcdef0123456789abcdef", "DEPLOY_TOKEN=" + "hunter22", "pass" + "word: hunter2222",
    "api_" + "key = \"a1b2c3d4e5", "--tok" + "en abcd1234", "xa" + "pp-1-A02-3456-abcdef",
  ])
  func `tokens of well-known services are redacted`(secret: String) {
    #expect(usual.apply(to: "it is \(secret) she said\nand more") == "it is [redacted] she said\nand more")
  }

  @Test(arguments: [
    "https://x-access-token:" + "gh" + "p_abcdefghijklmnop1234@github.com/a", "token:" + "sk-" + "abcdefghijklmnop1234",
    "Authorization:" + "Bearer abcdef0123456789abcdef", "env:API_KEY=" + "hunter22",
    "Authorization: Ba" + "sic dXNlcjpwYXNz", "{\"secret\": \"abc" + "d1234efgh\"}",
    "https://x.example/a?X-Amz-Signa" + "ture=0123456789&b=c", "https://hooks.sl" + "ack.com/services/T0/B0/x",
    "https://api.telegram.org/bot" + "123456789:" + "AAE9xKq0Z_abcdefghijklmnop/getMe",
  ])
  func `tokens are redacted within addresses, headers and assignments`(text: String) {
    #expect(usual.apply(to: text).contains("[redacted]"), "\(usual.apply(to: text))")
  }

  @Test func `a line on which a pattern takes too long is redacted as a whole, and reported once`() {
    let told = Locked<[String]>([])
    let redaction = Redactor(
      ["^(a+)+$", "ACME-[0-9]{6}"], logger: .lines { line in told.withLock { $0.append(line) } })
    let slow = String(repeating: "a", count: 64) + "!"
    let text = "aaaa\n\(slow)\nACME-123456 is \(slow)\n\(slow)"
    #expect(redaction.apply(to: text) == "[redacted]\n[redacted]\n[redacted] is \(slow)\n[redacted]")
    #expect(told.withLock { $0.count } == 1)
    #expect(told.withLock { $0.first }?.contains("^(a+)+$") == true)
  }

  @Test func `a long line costs a pattern no more than a short one`() {
    let line = String(repeating: "word ", count: 50_000) + "ACME-123456"
    #expect(Redactor(["ACME-[0-9]{6}", "usual"]).apply(to: line).hasSuffix("word [redacted]"))
  }

  @Test func `lines may end as on other systems, and arguments are redacted as a whole`() {
    let redaction = Redactor(["^private:.*$", "ACME-[0-9]{6}"])
    #expect(redaction.apply(to: "a\r\nprivate: b\r\nc") == "a\r\n[redacted]\r\nc")
    #expect(
      redaction.apply(to: ["command": "echo ACME-123456", "list": ["ACME-654321", 1]] as JSONValue)
        == ["command": "echo [redacted]", "list": ["[redacted]", 1]])
  }

  @Test(arguments: [
    "the token: the thing that grants access", "key = value", "a monkey=banana", "12:30 is when it begins",
    "sketch-book", "password: required", "the secret: use --token wisely", "a token: 12 of them",
    "https://example.org/a_b_c?d=e", "TOKEN=", "",
  ])
  func `prose is left unchanged`(text: String) {
    #expect(usual.apply(to: text) == text)
  }

  @Test func `configured patterns are tried on each line`() {
    let redaction = Redactor(["ACME-[0-9]{6}", "^private:.*$"])
    #expect(
      redaction.apply(to: "ACME-123456 and ACME-12\nprivate: all of it\n\nnot private: this\n")
        == "[redacted] and ACME-12\n[redacted]\n\nnot private: this\n")
    #expect(Redactor([]).isEmpty)
  }

  @Test func `a private key is taken out with all its lines, and nothing else`() {
    let begin = "-----BEGIN RSA " + "PRIVATE KEY-----"
    let end = "-----END RSA " + "PRIVATE KEY-----"
    #expect(
      usual.apply(to: "here:\n\(begin)\nProc-Type: 4,ENCRYPTED\n\nMIIBOgIBAAJBAK\n  abc+/=\n\(end)\nand more")
        == "here:\n[redacted]\nand more")
    #expect(usual.apply(to: "a \(begin)\\nMIIB\\n\(end) b") == "a [redacted] b")
    #expect(usual.apply(to: "It begins with \(begin)\nand goes on.") == "It begins with [redacted]\nand goes on.")
    #expect(Redactor(["x"]).apply(to: "\(begin)\nMIIB") == "\(begin)\nMIIB")
  }

  @Test func `of a growing text nothing is settled that may become a secret`() {
    let begin = "-----BEGIN " + "PRIVATE KEY-----"
    func settled(_ text: String) -> String { String(text[..<usual.settledEnd(of: text)]) }
    #expect(settled("one\ntwo") == "one\n")
    #expect(settled("one\n\(begin)\nMIIB\nab") == "one\n")
    #expect(settled("one\n\(begin)\nMIIB\n" + "-----END " + "PRIVATE KEY-----\ntwo").hasSuffix("-----\n"))
    #expect(usual.settledWords(of: "a b c d e f") == "a b ")
    #expect(usual.settledWords(of: "the pass" + "word = hunter2222") == "")
    #expect(Redactor(["usual", "x y"]).settledWords(of: "a b c d e f") == "")
  }
}
