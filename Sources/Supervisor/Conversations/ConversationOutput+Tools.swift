internal import AgentSessions
internal import ContentServices
internal import FoundationEssentials
internal import Logging
internal import MessageDelivery
internal import PiRPC
internal import PluginRuntime
internal import RelayConfig
internal import RelayStore
internal import RelayText
internal import RelayWire
internal import SessionStates

// Tools, the images they return, and other work that takes its time.
extension ConversationOutput {
  func endTool(_ id: String, _ name: String, failed: Bool, _ images: [PiImage]) async {
    if let sent = tools.end(id, name: name, failed: failed) { await remove(sent) }
    if profile.settings.images == .automatic { for image in images { await send(image, from: name) } }
  }

  func showProgress(of id: String) async {
    guard let call = tools.call(id), profile.settings.output != .final else { return }
    await answer.flushBeforeNotice(in: profile)
    // It is to go again, so it counts as unfinished until it has.
    let text = "⏳ Running \(TextSanitizer.line(call.name))…"
    tools.show(id, await delivery.send(delivery.compose(text, role: .tools, streaming: true)))
  }

  /// Shows in one message how something goes on. Where messages cannot be changed, its end is said alone.
  func show(_ kind: ProgressKind, _ text: String?, isOver: Bool) async {
    let id = "#\(kind.rawValue)"
    if let sent = isOver ? tools.takeMessage(of: id) : tools.message(of: id) {
      guard let text else { return await remove(sent) }
      let words = (sent.mayBeRepeat ? MessageSender.repeatMark : "") + redaction.apply(to: text)
      if isOver {
        await delivery.complete(sent, as: words, role: .notice)
      } else {
        // Its end says what could not be shown meanwhile.
        _ = await delivery.edit(delivery.composeEdit(of: sent.message, to: words, streaming: true))
      }
    } else if let text {
      guard isOver || profile.editsMessages else { return }
      await answer.flushBeforeNotice(in: profile)
      if isOver {
        await say(text, .notice)
      } else {
        let record = delivery.compose(redaction.apply(to: text), role: .notice, streaming: true)
        tools.show(id, await delivery.send(record))
      }
    }
  }

  func removeProgress() async {
    for sent in tools.takeMessages() { await remove(sent) }
  }

  func remove(_ sent: MessageSender.Sent) async {
    if await delivery.delete(sent.message) { delivery.store.scheduleCloseOutbound(sent.key) }
  }

  func flushTools() async {
    let calls = tools.takeFinished()
    guard !calls.isEmpty, profile.settings.output != .final else { return }
    // Before the formatter cuts them: half of a secret looks like none.
    let shown =
      redaction.isEmpty
      ? calls
      : calls.map { call in
        var call = call
        call.arguments = redaction.apply(to: call.arguments)
        return call
      }
    let lines = await services.toolLines(FormatTool(calls: shown, dialect: profile.dialect))
    await say(lines.joined(separator: "\n"), .tools)
  }

  func send(_ image: PiImage, from tool: String) async {
    // It may be away for a moment.
    guard let link = await delivery.holder.wait(), let most = link.capabilities.maximumFileBytes else { return }
    let ending = image.mimeType.split(separator: "/").last.map(String.init) ?? "bin"
    let name = TextSanitizer.line(tool) + "." + TextSanitizer.line(ending, limit: 8)
    let isSent = await send(name, mime: image.mimeType, link) {
      Data(base64Encoded: image.data).flatMap { $0.count <= most ? $0 : nil }
    }
    if isSent == false, !Task.isCancelled { display.becomeIncomplete() }
  }

  /// A long answer is easier to keep as a file; its messages are there already.
  func sendAsFile(_ text: String) async {
    guard let link = await delivery.holder.wait(), let most = link.capabilities.maximumFileBytes,
      text.utf8.count <= most
    else { return }
    _ = await send("answer.md", mime: "text/markdown", link) { Data(text.utf8) }
  }

  /// - Returns: whether it arrived; nil for what there is nothing of to send.
  private func send(
    _ name: String, mime: String, _ link: PluginConnection, _ content: @escaping @Sendable () -> Data?
  ) async -> Bool? {
    let path = "\(link.spoolFolder)/\(UUID().uuidString)"
    do {
      // Away from the loop, which carries everybody's text.
      let isWritten = try await withTaskExecutorPreference(globalConcurrentExecutor) {
        guard let data = content() else { return false }
        try data.write(to: URL(filePath: path))
        return true
      }
      guard isWritten else { return nil }
    } catch {
      delivery.logger.error("\(name) could not be handed over: \(error)")
      return nil
    }
    let sent = await delivery.send(file: path, name: name, mime: mime, caption: nil)
    await removeSpooled(path)
    return sent != nil
  }

  /// Removes a file that was sent or given up, once that is stored: the next daemon sends it, if this one did not.
  func removeSpooled(_ path: String) async {
    do {
      try await delivery.store.settled()
      if Task.isCancelled { return }
      try FileManager.default.removeItem(atPath: path)
    } catch {
      delivery.logger.warning("a file that is no longer needed is left behind: \(error)")
    }
  }
}
