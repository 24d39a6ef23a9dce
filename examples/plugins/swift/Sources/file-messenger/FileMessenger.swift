import Glibc
import MessengerKit
import PluginSDK

/// The messenger of the other examples in Swift: lines written into the FIFO `inbox` are messages, answers are appended
/// to `outbox`.
@main struct FileMessenger: Plugin {
  static let name = "file-messenger"
  static let version = "1"

  private struct Settings: Decodable, Sendable {
    var inbox: String
    var outbox: String
  }

  private let host: Host
  private let settings: Settings
  private let problems: ProblemReports
  let capabilities = Capabilities.messenger(maximumTextLength: 2_000, unit: .scalars)

  init(_ host: Host) throws {
    self.host = host
    settings = try host.config(as: Settings.self)
    problems = ProblemReports(host, beginningWith: nil)
  }

  func run() async throws {
    let inbox = settings.inbox
    if access(inbox, F_OK) != 0, mkfifo(inbox, 0o600) != 0 {
      // Only a person can resolve that: `pi-relayd status` shows it.
      await problems.tell("\(inbox) cannot be made (\(String(cString: strerror(errno)))): set `inbox` to another path")
      return
    }
    var number = 0
    for await line in lines(of: inbox) {
      number += 1
      try await host.received(
        MessageReceived(
          id: "\(getpid())-\(number)", conversation: Conversation(id: "file"),
          sender: Sender(id: "writer", name: "writer"), text: line))
    }
  }

  func send(_ request: MessageSend) async throws -> Receipt {
    guard let file = fopen(settings.outbox, "ae") else {
      throw DeliveryFailure.transient("the outbox cannot be opened")
    }
    defer { fclose(file) }
    fputs(request.text + "\n", file)
    return Receipt(message: request.key)
  }

  /// Reading a FIFO blocks, so a thread does it.
  private func lines(of path: String) -> AsyncStream<String> {
    AsyncStream { lines in
      let reader = Reader(path: path, lines: lines)
      var thread = pthread_t()
      pthread_create(
        &thread, nil,
        { argument in
          guard let argument else { return nil }
          Unmanaged<Reader>.fromOpaque(argument).takeRetainedValue().read()
          return nil
        }, Unmanaged.passRetained(reader).toOpaque())
    }
  }
}

private final class Reader: Sendable {
  let path: String
  let lines: AsyncStream<String>.Continuation

  init(path: String, lines: AsyncStream<String>.Continuation) {
    self.path = path
    self.lines = lines
  }

  func read() {
    var buffer = [CChar](repeating: 0, count: 4_096)
    while let file = fopen(path, "re") {
      while fgets(&buffer, Int32(buffer.count), file) != nil {
        let bytes = buffer.prefix { $0 != 0 && $0 != 0x0A }.map(UInt8.init(bitPattern:))
        lines.yield(String(decoding: bytes, as: UTF8.self))
      }
      fclose(file)
    }
    lines.finish()
  }
}
