internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import ProcessSupervision
internal import RelayConcurrency
internal import RelayHome
internal import RelayLogging
internal import RelayModel
internal import RelayTransport
internal import RelayWire

// One life of a plugin: started, greeted, served, watched, ended.
extension PluginInstance {
  func live() async -> Ending {
    enter(.starting)
    await SpawnGate.shared.wait()
    lastWords.withLock { $0 = [] }
    let folders = dependencies.folders
    let spool = folders.spool(name)
    let data = folders.data(name)
    let adopted = adopted
    self.adopted = nil
    let life: Life
    do {
      try folders.makePrivate(spool)
      try folders.makePrivate(data)
      life = if let adopted { try goOn(adopted) } else { try spawn(in: data) }
    } catch SpawnError.postponed {
      return .postponed
    } catch {
      return .failed("\(error)", worked: false)
    }
    self.life = life
    defer { self.life = nil }
    life.child.onExit { [life] _ in
      // Its helpers go with it; one that inherited its output must not make it look alive.
      _ = relay_signal_marked(life.marker, SIGKILL, getpid())
      life.peer.closeSoon()
      life.log.closeSoon()
    }
    do {
      try life.peer.start()
    } catch {
      life.peer.close()
      await life.child.tearDown([], clock: dependencies.timekeeper.clock)
      return .failed("\(error)", worked: false)
    }
    if let adopted { return await serve(makeLink(adopted.about, life, spool: spool), life, adopting: adopted) }
    switch await greet(life, data: data, spool: spool) {
    case .failure(let ending):
      life.peer.close()
      // Requests that came before the handshake hold the peer for as long as they wait.
      for await _ in life.peer.requests {}
      await life.child.tearDown([.terminate(then: .milliseconds(500))], clock: dependencies.timekeeper.clock)
      return ending
    case .success(let link): return await serve(link, life)
    }
  }

  private func spawn(in data: String) throws -> Life {
    let marker = "PI_RELAY_PLUGIN_LIFE=\(name)#\(UUID().uuidString)"
    let (child, pipes) = try ChildProcess.spawn(
      .init(
        name: name, path: specification.executable.path,
        environment: ChildEnvironment.plugin(
          from: dependencies.environment,
          markers: [dependencies.guardian?.marker ?? "\(Guardian.markerName)=none", marker]),
        directory: data),
      guardian: dependencies.guardian)
    let junk = Locked<String?>(nil)
    let peer = JSONRPCConnection(
      input: pipes.output, output: pipes.input, clock: dependencies.timekeeper.clock, violation: violations(junk))
    return Life(child: child, peer: peer, log: collectLog(pipes.error), marker: marker, junk: junk)
  }

  private func goOn(_ handover: PluginHandover) throws -> Life {
    let child = try ChildProcess.adopt(handover.child, guardian: dependencies.guardian)
    let junk = Locked<String?>(nil)
    let peer = JSONRPCConnection(handover.peer, clock: dependencies.timekeeper.clock, violation: violations(junk))
    let log = collectLog(handover.errors, held: handover.heldErrors)
    return Life(child: child, peer: peer, log: log, marker: handover.lifeMarker, junk: junk)
  }

  /// Reads standard error into the plugin's log, whether or not anything else goes well.
  private func collectLog(_ descriptor: Int32, held: [UInt8] = []) -> LineReader {
    let file = LogFile(path: dependencies.folders.log(name), limits: dependencies.logLimits)
    let lastWords = lastWords
    let reader = LineReader(
      descriptor: descriptor, maximumLineLength: 64 * 1024, held: held, loop: .logs,
      handlers: .init(line: { framed in
        switch framed {
        case .line(let bytes), .unfinished(let bytes):
          file.write(bytes)
          let words = String(decoding: bytes.prefix(300), as: UTF8.self)
          lastWords.withLock { $0 = $0.suffix(4) + [words] }
        case .tooLong(let length), .dismissed(let length): file.write("[a line of \(ByteCount(length)) was left out]")
        }
      }))
    do {
      try reader.start()
    } catch {
      dependencies.log("\(name): its log cannot be collected: \(error)")
      reader.close()
    }
    return reader
  }

  private func serve(_ link: PluginLink, _ life: Life, adopting adopted: PluginHandover? = nil) async -> Ending {
    let child = life.child
    let peer = life.peer
    life.link = link
    status.version = link.about.version
    status.kinds = link.about.kinds.map(\.rawValue)
    _ = link.note(adopted.map(\.problem) ?? link.about.problem)
    enter(.running)
    let audience = dependencies.audience
    await audience.connected(link)
    let timekeeper = dependencies.timekeeper
    let why = await withTaskGroup(of: String?.self) { group in
      // On the loop, where requests arrive: a message is on its way to the disk without another thread being woken.
      group.addTask(executorPreference: EventLoop.shared) {
        for await request in peer.requests {
          await audience.received(request, from: link)
        }
        // The output has ended: normally because the process has.
        return await life.explainEnd(within: .seconds(2), clock: timekeeper.clock)
      }
      group.addTask {
        await Self.watch(link, life, timekeeper)
        return nil
      }
      if link.isOnDemand {
        group.addTask { [self] in
          await endWhenIdle(link, life)
          return nil
        }
      }
      var why: String?
      while why == nil, let next = await group.next() { why = next }
      group.cancelAll()
      return why ?? "unknown reason"
    }
    peer.close()
    await child.tearDown([], clock: timekeeper.clock)
    // Who is asleep can be called.
    if takeFallingAsleep() { return .asleep(link) }
    await audience.disconnected(link)
    return .failed(why, worked: link.hasWorked)
  }

  /// Pings a quiet plugin; stops one that does not answer. Returns then, or when cancelled.
  private static func watch(_ link: PluginLink, _ life: Life, _ timekeeper: Timekeeper) async {
    while true {
      let quiet = link.silence
      if quiet < quietLimit || link.awaitsAnswers {
        let rest = link.awaitsAnswers ? quietLimit : quietLimit - quiet
        guard await timekeeper.sleep(for: rest) else { return }
        continue
      }
      do {
        _ = try await link.request(Ping(), within: pingLimit)
      } catch {
        guard !Task.isCancelled else { return }
        if case .timedOut = error {
          life.stop(because: "it did not answer a ping within \(pingLimit.forPeople)")
          return
        }
        // Any other answer is a sign of life; the end of the connection is noticed elsewhere.
        guard await timekeeper.sleep(for: quietLimit) else { return }
      }
    }
  }
}
