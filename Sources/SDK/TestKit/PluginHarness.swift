internal import CLinux
public import PluginSDK
internal import RelayTransport

/// Drives a plugin inside the test's own process: the test takes the part of the host.
///
/// ```swift
/// let harness = try PluginHarness<MyMessenger>(config: ["token": "x"])
/// let about = try await harness.start()
/// let receipt = try await harness.request(MessageSend(key: "1", conversation: "c", text: "hello"))
/// await harness.stop()
/// ```
public final class PluginHarness<P: Plugin>: Sendable {
  /// The messages that the plugin handed over; each was acknowledged before it appears here.
  public let received: AsyncStream<MessageReceived>
  /// The states it saved, in order.
  public let saved: AsyncStream<JSONValue>
  /// Problems that the plugin reported after `start`, in order; `nil` for the end of one.
  public let problems: AsyncStream<String?>

  private let peer: JSONRPCConnection
  private let config: JSONValue
  private let state: JSONValue?
  private let folder: String
  private let plugin: Task<Void, any Error>
  private let host: Task<Void, Never>

  /// The reason why the harness could not start, or the plugin did not answer.
  public struct Failure: Error, Sendable, CustomStringConvertible {
    public let description: String
  }

  /// - Parameters:
  ///   - folder: given to the plugin as its data and spool folder.
  ///   - reply: the host's answer to a message; without it every message is stored.
  public init(
    config: JSONValue = .object([:]), state: JSONValue? = nil, folder: String = "/tmp",
    reply: @escaping @Sendable (MessageReceived) async -> MessageReceived.Reply = { _ in .init(stored: true) }
  ) throws {
    func pipe() throws -> (read: Int32, write: Int32) {
      var ends: [Int32] = [0, 0]
      guard relay_pipe(&ends) == 0 else { throw Failure(description: "the system refused a pipe") }
      return (ends[0], ends[1])
    }
    let (toPlugin, fromPlugin) = (try pipe(), try pipe())
    peer = JSONRPCConnection(input: fromPlugin.read, output: toPlugin.write)
    self.config = config
    self.state = state
    self.folder = folder
    let (received, arrival) = AsyncStream<MessageReceived>.makeStream()
    let (saved, saving) = AsyncStream<JSONValue>.makeStream()
    self.received = received
    self.saved = saved
    let (problems, reporting) = AsyncStream<String?>.makeStream()
    self.problems = problems
    try peer.start()
    plugin = Task { try await P.serve(input: toPlugin.read, output: fromPlugin.write) }
    host = Task { [peer] in
      for await request in peer.requests {
        do throws(WireError) {
          switch request.method {
          case MessageReceived.method:
            let message = try request.params(MessageReceived.self)
            request.reply(await reply(message))
            arrival.yield(message)
          case StateSave.method:
            let state = try request.params(StateSave.self).state
            request.reply(Empty())
            saving.yield(state)
          case ProblemReport.method:
            let problem = try request.params(ProblemReport.self).problem
            request.reply(Empty())
            reporting.yield(problem)
          default: request.reply(Empty())
          }
        } catch {
          request.fail(error)
        }
      }
      arrival.finish()
      saving.finish()
      reporting.finish()
    }
  }

  /// Shakes hands.
  ///
  /// - Throws: `WireError` when the plugin refuses, with its complaints in `data`.
  public func start() async throws -> InitializeReply {
    try await request(
      InitializeRequest(
        host: HostDescription(name: "harness", version: "0"), instance: "\(P.name)/test", config: config, state: state,
        dataDir: folder, spoolDir: folder))
  }

  /// Asks something of the plugin, as the host would.
  ///
  /// - Throws: `DeliveryFailure` or `WireError`, as the plugin answered; `Failure` when it did not.
  public func request<Request: WireRequest>(_ request: Request) async throws -> Request.Reply {
    do {
      return try await peer.request(request, within: .seconds(30))
    } catch .refused(let error) {
      if let failure = DeliveryFailure(error) { throw failure }
      throw error
    } catch {
      throw Failure(description: "\(error)")
    }
  }

  /// Ends the plugin's input and waits until it has left.
  public func stop() async {
    peer.finish()
    _ = await plugin.result
    peer.close()
    await host.value
  }
}
