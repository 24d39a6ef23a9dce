import Glibc
import RelayJSON
import RelayModel
import RelayStore
import RelayTransport
import RelayWire

/// The cost of acknowledging a message: through the daemon, and on the disk itself.
enum Acknowledgement {
  private static let alone = 300
  private static let together = 3_000
  /// As many as the protocol allows to be unanswered.
  private static let inFlight = ProtocolLimits.maximumRequestsInFlight

  /// A messenger that hands over empty messages, which nobody need answer: first one at a time, as far apart as the
  /// peer's, then as many as may be under way at once. Writes the median of the first in microseconds, and how many a
  /// second of the second.
  static func messenger() {
    var buffer = [UInt8](repeating: 0, count: EventLoop.chunkSize)
    var framer = LineFramer(maximumLineLength: ProtocolLimits.maximumLineLength)
    var (next, answered, began, loadBegan) = (0, 0, 0, 0)
    var times: [Int] = []
    var result = ""
    func sendNext() {
      next += 1
      began = Latency.now()
      Latency.say(
        #"{"jsonrpc":"2.0","id":\#(next),"method":"message.received","params":{"id":"\#(next)","conversation":{"id":"c","kind":"dm"},"sender":{"id":"u","name":"u"},"text":""}}"#
      )
    }
    while true {
      let count = read(0, &buffer, buffer.count)
      guard count > 0 else { return }
      buffer.withUnsafeBytes { bytes in
        framer.feed(UnsafeRawBufferPointer(rebasing: bytes[..<count])) { framed in
          guard case .line(let line) = framed, let envelope = Envelope(line) else { return }
          switch envelope.kind {
          case .request(.integer(let id), let method):
            Latency.answer(id, method)
            guard method == "initialize" else { return }
            result = Latency.resultFile(line)
            sendNext()
          case .result:
            answered += 1
            if answered <= alone { times.append(Latency.now() - began) }
            if answered < alone {
              usleep(Latency.gap)
              return sendNext()
            }
            if answered == alone {
              loadBegan = Latency.now()
              for _ in 0..<inFlight { sendNext() }
            } else if next < alone + together {
              sendNext()
            } else if answered == alone + together {
              let seconds = Double(Latency.now() - loadBegan) / 1e9
              let median = Double(times.sorted()[times.count / 2]) / 1_000
              Latency.save("\(median) \(Double(together) / seconds)", to: result)
            }
          default: return
          }
        }
      }
    }
  }

  /// Passes bytes on from standard input to standard output; with a file, appends them there with fdatasync first.
  static func pass(through path: String?) {
    let file = path.map { open($0, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0o600) }
    var bytes = [UInt8](repeating: 0, count: EventLoop.chunkSize)
    while true {
      let count = Glibc.read(0, &bytes, bytes.count)
      guard count > 0 else { return }
      if let file {
        guard Glibc.write(file, bytes, count) == count, fdatasync(file) == 0 else { exit(1) }
      }
      guard Glibc.write(1, bytes, count) == count else { exit(1) }
    }
  }

  /// A home's database as a killed daemon leaves it: 10,000 rows of what is done, in ten sessions.
  static func fill(_ home: String) async {
    do {
      let store = try SQLiteStore(path: home + "/state/relay.db")
      for number in 0..<10 {
        try await store.saveSession(
          SessionRecord(id: "s\(number)", name: "s\(number)", directory: "/tmp", model: nil, wantsToolImages: false))
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<5_000 { group.addTask { try await live(number, store) } }
        try await group.waitForAll()
      }
      try await store.settled()
      // Without closing it.
      exit(0)
    } catch {
      StandardError.say("\(error)")
      exit(1)
    }
  }

  /// One message, and its answer.
  private static func live(_ number: Int, _ store: SQLiteStore) async throws {
    let conversation = ConversationKey(instance: "i", conversation: "c\(number % 50)")
    let message = MessageReceived(
      id: "\(number)", conversation: Conversation(id: conversation.conversation), sender: Sender(id: "u", name: "u"),
      text: String(repeating: "word ", count: 40))
    let key = MessageKey(conversation: conversation, id: message.id)
    _ = try await store.accept(StoredMessage(key: key, message: message), state: nil)
    let answer = MessageSend(key: "k\(number)", conversation: conversation.conversation, text: message.text)
    try await store.recordOutbound(
      [OutboundRecord(key: answer.key, conversation: conversation, request: .message(answer))],
      ending: MessageEnd(restored: key, .settled, .answered), closing: nil)
    store.scheduleSettleOutbound(answer.key, .sent(message: "m\(number)"))
    store.scheduleOutcomeTold(key)
  }

  /// The median of bare appends of 300 bytes with fdatasync, in microseconds, and how many commits of one row a second
  /// SQLite makes.
  static func peers(in folder: String) async {
    let file = open(folder + "/append", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0o600)
    let bytes = [UInt8](repeating: 1, count: 300)
    var times: [Int] = []
    for _ in 0..<alone {
      usleep(Latency.gap)
      let began = Latency.now()
      guard Glibc.write(file, bytes, bytes.count) == bytes.count, fdatasync(file) == 0 else { exit(1) }
      times.append(Latency.now() - began)
    }
    do {
      let store = try SQLiteStore(path: folder + "/single.db")
      let key = ConversationKey(instance: "i", conversation: "c")
      let began = Latency.now()
      for number in 0..<alone {
        let message = MessageReceived(
          id: "\(number)", conversation: Conversation(id: "c"), sender: Sender(id: "u", name: "u"), text: "")
        _ = try await store.accept(
          StoredMessage(key: MessageKey(conversation: key, id: message.id), message: message), state: nil)
      }
      let seconds = Double(Latency.now() - began) / 1e9
      print(Double(times.sorted()[times.count / 2]) / 1_000, Double(alone) / seconds)
    } catch {
      StandardError.say("\(error)")
      exit(1)
    }
  }
}
