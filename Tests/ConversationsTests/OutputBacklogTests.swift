import DequeModule
import RelayConcurrency
import RelayJSON
import RelayStore
import RelayWire
import SessionStates
import TestSupport
import Testing

@testable import Conversations
@testable import PiRPC
@testable import RelayModel

@Suite struct OutputBacklogTests {
  private func waiting(_ items: [OutputItem]) async -> [OutputItem] {
    let mailbox = Mailbox<OutputItem>(limit: OutputBacklog.limit, compact: OutputBacklog.compact)
    for item in items { mailbox.post(item) }
    mailbox.close()
    var left: [OutputItem] = []
    while let item = await mailbox.next() { left.append(item) }
    return left
  }

  private func message(_ number: Int) -> OutputItem {
    .output(
      .event(.messageEnded(PiMessage(role: "assistant", text: "\(number)", stopReason: "stop", errorMessage: nil))))
  }

  @Test func `tool calls are dropped first, every message stays, and the gap is shown once`() async throws {
    var items: [OutputItem] = []
    for number in 0..<500 {
      for call in 0..<10 {
        let id = "\(number)-\(call)"
        items.append(.output(.event(.toolStarted(id: id, name: "bash", arguments: .null))))
        items.append(.output(.event(.toolEnded(id: id, name: "bash", failed: false, images: []))))
      }
      items.append(.output(.event(.text("partial"))))
      items.append(message(number))
    }
    let left = await waiting(items)
    #expect(left.count <= OutputBacklog.limit)
    let texts = left.compactMap {
      if case .output(.event(.messageEnded(let message))) = $0 { message.text } else { nil }
    }
    #expect(texts == (0..<500).map(String.init))
    let gaps = left.compactMap { if case .leftOut(let tools, let messages) = $0 { [tools, messages] } else { nil } }
    #expect(gaps.count == 1)
    let shown = left.count { if case .output(.event(.toolEnded)) = $0 { true } else { false } }
    #expect(try #require(gaps.first) == [5_000 - shown, 0])
  }

  @Test func `a growing message is shown in time although much output waits`() async {
    let calls = (0..<OutputBacklog.limit).map { number in
      OutputItem.output(.event(.toolStarted(id: "\(number)", name: "bash", arguments: .null)))
    }
    let left = await waiting([.timer(.flush(7)), .timer(.toolIsSlow("0")), .timer(.runIsSlow(1))] + calls)
    let timers = left.compactMap { if case .timer(let timer) = $0 { timer } else { nil } }
    #expect(timers == [.flush(7)])
  }

  @Test func `a backlog of a hundred thousand messages stays bounded and keeps the newest messages and all endings`()
    async
  {
    let key = MessageKey(conversation: ConversationKey(instance: "m", conversation: "c"), id: "first")
    var items: [OutputItem] = [.output(.end(MessageEnd(of: key, .ran)))]
    for number in 0..<100_000 { items.append(message(number)) }
    let left = await waiting(items)
    #expect(left.count <= OutputBacklog.limit + 1)
    var lost = 0
    var texts: [String] = []
    var settled = false
    for item in left {
      switch item {
      case .leftOut(_, let messages): lost += messages
      case .output(.event(.messageEnded(let message))): texts.append(message.text)
      case .output(.end): settled = true
      default: Issue.record("\(item)")
      }
    }
    #expect(settled)
    #expect(lost + texts.count == 100_000)
    #expect(texts == (lost..<100_000).map(String.init))
  }
}
