import RelayJSON
import RelayModel
import RelayText
import RelayWire
import Testing

@testable import Approvals

@Suite struct CallSummaryTests {
  private let redaction = Redactor(["usual"])

  private func summary(_ tool: String, _ input: JSONValue) -> String {
    ToolCall(tool: tool, input: input, directory: "/").summary(through: redaction)
  }

  @Test func `a write shows its path and its size, and nothing of its content`() {
    #expect(summary("write", ["path": "a/b.txt", "content": "hunter2\nx"]) == "a/b.txt (9 characters)")
    #expect(summary("write", ["path": "a", "content": "x"]) == "a (1 character)")
    #expect(summary("edit", ["path": "a", "oldText": "abc", "newText": "wxyz1"]) == "a (3 → 5 characters)")
    #expect(
      summary(
        "edit", ["path": "a", "edits": [["oldText": "abc", "newText": ""], ["oldText": "d", "newText": "ef"]]])
        == "a (2 edits, 4 → 2 characters)")
  }

  @Test func `a command and another tool's input are shown redacted, without control signs`() {
    #expect(
      summary("bash", ["command": "A_TOKEN=hunter22 git push\n\n  ls \u{202E}x\u{1B}[2J"])
        == "[redacted] git push\nls x [2J")
    #expect(
      summary("deploy", ["to": "prod", "key": "Bearer abcdef0123456789abcdef"])
        == #"deploy {"key":"[redacted]","to":"prod"}"#)
  }

  @Test func `of a long command the beginning and the end are shown`() {
    let long = "echo begin " + String(repeating: "x", count: 5_000) + "; git push"
    let text = summary("bash", ["command": .string(long)])
    #expect(text.count == ToolCall.summaryLimit)
    #expect(text.hasPrefix("echo begin xxx") && text.hasSuffix("xxx; git push"))
    #expect(text.contains(" … (5021 characters in all) … "))
    let secret = String(repeating: "x", count: 460) + " DEPLOY_TOKEN=" + String(repeating: "s", count: 400)
    #expect(!summary("bash", ["command": .string(secret)]).contains("sss"))
  }

  @Test func `SHA-256 has the digests of its standard`() {
    func hex(_ text: String) -> String {
      SHA256.digest(of: Array(text.utf8)).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    #expect(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
        == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    #expect(
      hex(String(repeating: "a", count: 119)) == "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb")
  }

  @Test func `a fingerprint names category, tool and rule, and depends on all of the call`() {
    func print(_ command: String, rule: String = "r", in directory: String = "/a") -> String {
      CallFingerprint.of(bash(command, in: directory), .gitRemote, rule: rule)
    }
    let first = print("git push")
    #expect(first.hasPrefix("git-remote:bash:r:"))
    let digits = first.split(separator: ":").last ?? ""
    #expect(digits.count == 24 && digits.allSatisfy(\.isHexDigit))
    #expect(print("git push") == first)
    #expect(CallFingerprint.Name(first) == CallFingerprint.Name("git-remote:bash:r:0"))
    #expect(CallFingerprint.Name("custom:a:b:r:0").tool == "a:b")
    let others = [
      print("git push "), print("git push", rule: "s"), print("git push", in: "/b"),
      CallFingerprint.of(bash("git push", in: "/a"), .shell, rule: "r"),
    ]
    #expect(Set(others + [first]).count == 5)
    // Both look the same when they are shown.
    let tail = String(repeating: "x", count: 2_000)
    #expect(print("a\(tail)b\(tail)c") != print("a\(tail)d\(tail)c"))
    #expect(print("A_TOKEN=hunter22 git push") != print("A_TOKEN=hunter23 git push"))
  }

  @Test func `the fingerprint of a write depends on its path and its summary`() {
    func print(_ path: String, _ content: String) -> String {
      let input: JSONValue = ["path": .string(path), "content": .string(content)]
      return CallFingerprint.of(ToolCall(tool: "write", input: input, directory: "/"), .fileWrite, rule: "r")
    }
    #expect(print("a", "x") == print("a", "y"))
    #expect(print("a", "x") != print("b", "x"))
    #expect(print("a", "x") != print("a", "xy"))
  }
}
