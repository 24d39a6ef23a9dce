internal import FoundationEssentials
internal import Logging
internal import MessageDelivery
internal import PiRPC
internal import PluginRuntime
internal import RelayStore
internal import RelayText
internal import RelayWire

/// Sends files to one conversation, by way of the messenger's spool folder.
struct FileSender: Sendable {
  let delivery: MessageSender

  /// - Returns: false when it did not arrive; `nil` where there is nothing to send, or no way to.
  func send(_ image: PiImage, from tool: String) async -> Bool? {
    // It may be away for a moment.
    guard let link = await delivery.holder.wait(), let maximumBytes = link.capabilities.maximumFileBytes else {
      return nil
    }
    let ending = image.mimeType.split(separator: "/").last.map(String.init) ?? "bin"
    let name = TextSanitizer.line(tool) + "." + TextSanitizer.line(ending, limit: 8)
    return await send(name, mime: image.mimeType, link) {
      Data(base64Encoded: image.data).flatMap { $0.count <= maximumBytes ? $0 : nil }
    }
  }

  /// A long answer is easier to keep as a file; its messages are there already.
  func send(answer text: String) async {
    guard let link = await delivery.holder.wait(), let maximumBytes = link.capabilities.maximumFileBytes,
      text.utf8.count <= maximumBytes
    else { return }
    _ = await send("answer.md", mime: "text/markdown", link) { Data(text.utf8) }
  }

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
      delivery.logger.error("\(name) could not be written for the messenger: \(error)")
      return nil
    }
    let sent = await delivery.send(file: path, name: name, mime: mime, caption: nil)
    await remove(path)
    return sent != nil
  }

  /// Removes a file that was sent or given up, once that is stored: the next daemon sends it, if this one did not.
  func remove(_ path: String) async {
    do {
      try await delivery.store.settled()
      if Task.isCancelled { return }
      try FileManager.default.removeItem(atPath: path)
    } catch {
      delivery.logger.warning("a file that is no longer needed could not be removed: \(error)")
    }
  }
}
