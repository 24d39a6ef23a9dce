internal import Glibc
internal import RelayJSON
internal import RelayTransport

extension Plugin {
  /// Runs the plugin from its start to its end; `@main` calls it.
  ///
  /// All of it runs on the thread that reads and writes the pipes. A pool would cost each idle plugin a wake-up a
  /// second, and a hanging plugin would keep answering pings.
  public static func main() {
    guard getenv(ProtocolLimits.environmentMarker) != nil else {
      print(
        """
        \(name) \(version) is a plugin of pi-relay and is not run by hand.
        Put it into the plugin folder (~/.pi/agent/relay/plugins) and start pi-relayd,
        or check it with: pi-relayd plugins check \(CommandLine.arguments.first ?? name)
        """)
      exit(0)
    }
    Task(executorPreference: EventLoop.shared) { await live() }
    while true { pause() }
  }

  private static func live() async {
    do {
      let streams = try StandardStreams.takeOver()
      try await serve(input: streams.input, output: streams.output)
      exit(0)
    } catch {
      StandardError.say("\(name): \(error)")
      exit(1)
    }
  }

  /// Serves one connection until it ends. Takes over both descriptors.
  package static func serve(input: Int32, output: Int32) async throws {
    let peer = JSONRPCConnection(
      input: input, output: output, violation: { StandardError.say("\(name): a line from pi-relayd: \($0)") })
    try peer.start()
    try await withThrowingDiscardingTaskGroup { group in
      var started: Self?
      var isInSetup = false
      for await request in peer.requests {
        if let plugin = started {
          // Each on its own, so that a slow one delays no other; the host limits how many there are.
          group.addTask { await Dispatcher(plugin: plugin).answer(request) }
        } else if isInSetup {
          request.fail(WireError(.invalidRequest, "this process is for one set-up or check"))
        } else if [SetupRequest.method, CheckRequest.method].contains(request.method) {
          isInSetup = true
          // The other side may leave in the middle, which ends the set-up or check.
          group.addTask { _ = await greet(request, peer) }
        } else if let plugin = await greet(request, peer) {
          started = plugin
          group.addTask {
            do {
              try await plugin.run()
            } catch {
              // A plugin that cannot do its work must not look alive: the host starts it again.
              peer.close()
              throw error
            }
          }
        }
      }
      group.cancelAll()
    }
  }

  /// Answers the first request; nil when the host has to ask again.
  private static func greet(_ request: IncomingRequest, _ peer: JSONRPCConnection) async -> Self? {
    do {
      if request.method == SetupRequest.method {
        let known = try request.params(SetupRequest.self).config
        do { request.reply(try await setUp(SetupDialogue(peer), known: known)) } catch let error as WireError {
          throw error
        } catch {
          // The person reads it: faulty settings by their names.
          throw WireError(.internalError, "\(error)")
        }
        return nil
      }
      if request.method == CheckRequest.method {
        request.reply(CheckRequest.Reply(findings: try await findings(try request.params(CheckRequest.self))))
        return nil
      }
      guard request.method == InitializeRequest.method else {
        throw WireError(.invalidRequest, "initialize comes first")
      }
      let about = try request.params(InitializeRequest.self)
      guard let version = ProtocolVersion.common(ProtocolVersion.supported, about.protocolVersions) else {
        throw WireError(
          .invalidParams, "this plugin speaks protocol \(ProtocolVersion.supported), not \(about.protocolVersions)")
      }
      let host = Host(about: about, peer: peer)
      let plugin = try await Self(host)
      let capabilities = await plugin.capabilities
      request.reply(
        InitializeReply(
          protocolVersion: version, name: name, version: Self.version, kinds: kinds, capabilities: capabilities,
          problem: host.endGreeting()))
      return plugin
    } catch let problems as ConfigurationProblems {
      let data = problems.problems.map { ["path": .string($0.path), "message": .string($0.message)] as JSONValue }
      request.fail(WireError(.configuration, "the configuration is not usable", data: .array(data)))
    } catch let error as WireError {
      request.fail(error)
    } catch {
      request.fail(WireError(.internalError, "\(error)"))
    }
    return nil
  }

  private static func findings(_ request: CheckRequest) async throws(WireError) -> [CheckRequest.Finding] {
    do {
      return try await check(request)
    } catch let problems as ConfigurationProblems {
      return problems.problems.map { .init(false, "\($0.path) \($0.message)") }
    } catch let error as WireError {
      throw error
    } catch {
      return [.init(false, "\(error)")]
    }
  }
}

/// Gives a request to the method of the plugin that is meant.
struct Dispatcher<P: Plugin>: Sendable {
  let plugin: P

  func answer(_ request: IncomingRequest) async {
    do {
      try await dispatch(request)
    } catch let error as WireError {
      request.fail(error)
    } catch let failure as DeliveryFailure {
      request.fail(failure.wireError)
    } catch {
      request.fail(WireError(.internalError, "\(error)"))
    }
  }

  private func dispatch(_ request: IncomingRequest) async throws {
    switch request.method {
    case Ping.method: request.reply(Empty())
    case Shutdown.method:
      await plugin.shutdown()
      request.reply(Empty())
    case MessageSend.method: try await call(request, plugin.send)
    case MessageEdit.method: try await call(request, plugin.edit)
    case MessageDelete.method: try await call(request, plugin.delete)
    case MessageSettled.method: try await call(request, plugin.settled)
    case MessageLookup.method: try await call(request, plugin.lookup)
    case FileSend.method: try await call(request, plugin.sendFile)
    case DialogShow.method: try await call(request, plugin.showDialog)
    case DialogClose.method: try await call(request, plugin.closeDialog)
    case ReactionSet.method: try await call(request, plugin.setReaction)
    case TypingSet.method: try await call(request, plugin.setTyping)
    case ThreadCreate.method: try await call(request, plugin.createThread)
    case ConversationOpen.method: try await call(request, plugin.openConversation)
    case PresenceSet.method: try await call(request, plugin.setPresence)
    case CommandsChanged.method: try await call(request, plugin.commandsChanged)
    case FormatRender.method: try await call(request, plugin.render)
    case FormatTool.method: try await call(request, plugin.describeTools)
    case AttachmentsPrepare.method: try await call(request, plugin.prepareAttachments)
    default: throw WireError(.methodNotFound, "there is no method \(request.method)")
    }
  }

  private func call<Params: WireRequest>(
    _ request: IncomingRequest, _ body: (Params) async throws -> Params.Reply
  ) async throws {
    request.reply(try await body(try request.params(Params.self)))
  }

  private func call<Params: WireRequest>(
    _ request: IncomingRequest, _ body: (Params) async throws -> Void
  ) async throws {
    try await body(try request.params(Params.self))
    request.reply(Empty())
  }
}
