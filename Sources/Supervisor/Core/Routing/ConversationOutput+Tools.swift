internal import FoundationEssentials
internal import PiRPC
internal import RelayConfig
internal import RelayPipes
internal import RelayStore
internal import RelayWire

// What tools do, and the images they return.
extension ConversationOutput {
  func endTool(_ id: String, _ name: String, failed: Bool, _ images: [PiImage]) async {
    var call = running.removeValue(forKey: id) ?? FormatTool.Call(name: name, arguments: .null)
    call.failed = failed ? true : nil
    finished.append(call)
    if let sent = progress.removeValue(forKey: id) { await remove(sent) }
    if settings.images == .automatic { for image in images { await send(image, from: name) } }
  }

  func showProgress(of id: String) async {
    guard let call = running[id], settings.output != .final else { return }
    await breakStream()
    // It is to go again, so it counts as unfinished until it has.
    let text = "⏳ Running \(SafeText.line(call.name))…"
    progress[id] = await delivery.send(delivery.compose(text, role: .tools, streaming: true))
  }

  func removeProgress() async {
    for sent in progress.values { await remove(sent) }
    progress = [:]
  }

  func remove(_ sent: Delivery.Sent) async {
    if await delivery.delete(sent.message) { delivery.store.closeOutboundSoon(sent.key) }
  }

  func flushTools() async {
    guard !finished.isEmpty else { return }
    let calls = finished
    finished = []
    guard settings.output != .final else { return }
    let dialect = capabilities.dialect ?? "plain"
    let lines = await services.toolLines(FormatTool(calls: calls, dialect: dialect))
    await say(lines.joined(separator: "\n"), .tools)
  }

  func send(_ image: PiImage, from tool: String) async {
    // It may be away for a moment.
    guard let link = await delivery.holder.wait(), let most = link.capabilities.maximumFileBytes else { return }
    let ending = image.mimeType.split(separator: "/").last.map(String.init) ?? "bin"
    let name = SafeText.line(tool) + "." + SafeText.line(ending, limit: 8)
    let path = "\(link.spoolFolder)/\(UUID().uuidString)"
    do {
      // Away from the loop, which carries everybody's text.
      let isWritten = try await withTaskExecutorPreference(globalConcurrentExecutor) {
        guard let data = Data(base64Encoded: image.data), data.count <= most else { return false }
        try data.write(to: URL(filePath: path))
        return true
      }
      guard isWritten else { return }
    } catch {
      delivery.log("\(key): an image of \(tool) could not be handed over: \(error)")
      return
    }
    let sent = await delivery.send(file: path, name: name, mime: image.mimeType, caption: nil)
    if sent == nil, !Task.isCancelled { isIncomplete = true }
    await removeSpooled(path)
  }

  /// Removes a file that was sent or given up, once that is stored: the next daemon sends it, if this one did not.
  func removeSpooled(_ path: String) async {
    do {
      try await delivery.store.settled()
      if Task.isCancelled { return }
      try FileManager.default.removeItem(atPath: path)
    } catch {
      delivery.log("\(key): a file that is no longer needed is left behind: \(error)")
    }
  }
}
