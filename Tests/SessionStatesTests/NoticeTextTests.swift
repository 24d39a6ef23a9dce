import FoundationEssentials
import PiRPC
import Testing

@testable import SessionStates

/// The words for what pi says of retries, compactions and errors.
@Suite struct NoticeTextTests {
  @Test(arguments: [
    (#"429 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "Overloaded"),
    (#"500: {"message":"fake error 500","type":"fake_error","code":null}"#, "fake error 500"),
    (#"503 [{"error":{"code":503,"message":"{\"error\":{\"message\":\"Try later\"}}"}}]"#, "Try later"),
    (#"Codex error: {"error":"no such model"} (request 7)"#, "Codex error: no such model"),
    ("503 The model is overloaded", "503 The model is overloaded"),
    ("no {braces} here", "no {braces} here"),
    (#"{"status":500}"#, #"{"status":500}"#),
    ("", ""),
  ])
  func `a service's own message is taken from its JSON`(error: String, words: String) {
    #expect(ServiceError.words(error) == words)
  }

  private func told(of recording: String) throws -> [SessionEvent] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let bytes = [UInt8](try Data(contentsOf: folder.appending(path: "Transcripts/\(recording).jsonl")))
    var notices = NoticeText()
    var scanner = PiEventScanner()
    var text = DeltaText()
    return bytes.split(separator: 0x0A).compactMap { line in
      Array(line).withUnsafeBytes { scanner.scan($0, into: &text) }.flatMap { notices.event(for: $0) }
    }
  }

  private static let attempts = (1...3).map { attempt in
    SessionEvent.progress(
      .retry, "🔁 fake error 500: trying again in \(1 << attempt) s, \(attempt) of 3.", isOver: false)
  }

  @Test func `recorded retries of pi are reported in words`() throws {
    #expect(try told(of: "current/18-auto-retry") == Self.attempts + [.progress(.retry, nil, isOver: true)])
    #expect(
      try told(of: "cumulative/18b-auto-retry-succeeds") == [
        .progress(.retry, "🔁 503 fake error 503: trying again in 2 s, 1 of 3.", isOver: false),
        .progress(.retry, "🔁 503 fake error 503: retry 1 of 3 succeeded.", isOver: true),
      ])
  }

  @Test(arguments: [
    (PiEvent.notify(message: "done", kind: "info"), "ℹ️ done"), (.notify(message: "slow", kind: "warning"), "⚠️ slow"),
    (.notify(message: "broken", kind: "error"), "❌ broken"),
    (.extensionError(path: "/home/ann/.pi/tools.ts", message: "no key"), "⚠️ The extension tools.ts failed: no key"),
  ])
  func `notices and failures of extensions are shown as they are`(event: PiEvent, text: String) {
    var notices = NoticeText()
    #expect(notices.event(for: event) == .notice(text))
  }
}
