import FoundationEssentials
import Glibc
import MessengerHTTP
import PluginSDK
import PluginTestKit
import RelayJSON
import RelayWire
import TestSupport
import Testing

/// A messenger that hands over one message with the files at the addresses of its configuration.
private struct Fetcher: Plugin {
  static let name = "fetcher"
  static let message = "../m/1"
  private let host: Host
  private let files: IncomingFiles
  let capabilities = Capabilities.messenger(maximumTextLength: 100)

  init(_ host: Host) {
    self.host = host
    var limits = IncomingFiles.Limits()
    limits.bytes = 2_000
    files = IncomingFiles(host, limits: limits, proxy: "", allowsPrivate: true)
  }

  func run() async throws {
    let sources: [IncomingFile.Source] =
      if let path = host.about.config["copy"]?.stringValue {
        [.copy(of: path)]
      } else if let url = host.about.config["url"]?.stringValue {
        [
          .address("\(url)/secret", headers: ["Authorization": "Bearer abc"]), .address("\(url)/large=9000"),
          .address("\(url)/status=404"), .none,
        ]
      } else {
        []
      }
    _ = try await files.received(
      MessageReceived(
        id: Self.message, conversation: Conversation(id: "c/.."), sender: Sender(id: "u", name: "Ann"), text: "look"),
      with: sources.enumerated().map { .init(RelayWire.Attachment(id: "\($0)", name: "../../\($0)"), from: $1) })
    try await host.save(state: "done")
  }

  func settled(_ request: MessageSettled) { files.settled(request) }
}

@Suite(.timeLimit(.minutes(1))) struct IncomingFileTests {
  /// Hands over the message, and looks at its files then and after the host has answered.
  private func handOver(
    _ config: JSONValue, into folder: TemporaryFolder, reply: MessageReceived.Reply = .init(stored: true),
    andThen body: (PluginHarness<Fetcher>) async throws -> Void = { _ in }
  ) async throws -> (attachments: [RelayWire.Attachment], leftPaths: [String]) {
    let harness = try PluginHarness<Fetcher>(config: config, folder: folder.path, reply: { _ in reply })
    _ = try await harness.start()
    var messages = harness.received.makeAsyncIterator()
    let attachments = try #require(await messages.next()).attachments ?? []
    var states = harness.saved.makeAsyncIterator()
    #expect(await states.next() == "done")
    try await body(harness)
    await harness.stop()
    return (attachments, attachments.compactMap(\.path).filter { FileManager.default.fileExists(atPath: $0) })
  }

  @Test func `a file is fetched with its headers, for this user alone, and named by nobody else`() async throws {
    try await PythonServer.run("http-server") { server in
      let folder = try TemporaryFolder()
      let (attachments, left) = try await handOver(
        ["url": .string("http://127.0.0.1:\(server.ports[0])")], into: folder)
      #expect(attachments.map { $0.path != nil } == [true, false, false, false])
      let path = try #require(left.first)
      #expect(path.hasPrefix(folder.path + "/received/") && !path.contains("/.."))
      let contents = FileManager.default.contents(atPath: path) ?? Data()
      #expect(String(decoding: contents, as: UTF8.self).contains("Bearer abc"))
      var status = stat()
      #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }
  }

  @Test func `a message that the host refuses leaves no file behind`() async throws {
    try await PythonServer.run("http-server") { server in
      for reply in [MessageReceived.Reply(stored: false, refused: true), .init(stored: false)] {
        let folder = try TemporaryFolder()
        let (attachments, left) = try await handOver(
          ["url": .string("http://127.0.0.1:\(server.ports[0])")], into: folder, reply: reply)
        #expect(attachments.first?.path != nil && left.isEmpty)
      }
    }
  }

  @Test func `the end of a message removes its files, and a message handed over again keeps them`() async throws {
    try await PythonServer.run("http-server") { server in
      let folder = try TemporaryFolder()
      let config: JSONValue = ["url": .string("http://127.0.0.1:\(server.ports[0])")]
      #expect(try await handOver(config, into: folder).leftPaths.count == 1)
      // The next process does not know that the host had stored it.
      #expect(try await handOver(config, into: folder, reply: .init(stored: false)).leftPaths.count == 1)
      let left = try await handOver(config, into: folder) { harness in
        _ = try await harness.request(
          MessageSettled(conversation: "c/..", message: Fetcher.message, outcome: .answered))
      }
      #expect(left.leftPaths.isEmpty)
    }
  }

  @Test func `a file of this machine is copied, unless it is too large`() async throws {
    let folder = try TemporaryFolder()
    for (size, isTaken) in [(2_000, true), (2_001, false)] {
      let original = folder.path + "/original\(size)"
      #expect(FileManager.default.createFile(atPath: original, contents: Data(count: size)))
      let (attachments, left) = try await handOver(["copy": .string(original)], into: try TemporaryFolder())
      #expect(attachments.first?.path != original)
      #expect(left.count == (isTaken ? 1 : 0))
    }
  }
}
