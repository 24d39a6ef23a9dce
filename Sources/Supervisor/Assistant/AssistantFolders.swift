internal import AgentRuntime
internal import FoundationEssentials
internal import Glibc
internal import Logging

/// The transcript directories of the assistant's sessions.
struct AssistantFolders {
  let root: String

  /// Removes the directories of sessions that no longer exist and were not written to within `limit`. Other files stay.
  ///
  /// - Parameter now: in seconds since 1970.
  /// - Returns: the number of removed directories.
  func remove(
    exceptOf used: Set<String>, unusedFor limit: Duration, now: Double, logger: Logger
  ) -> Int {
    // Before the first session there is none.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    var removed = 0
    for name in names where UUID(uuidString: name) != nil && !used.contains(name) {
      let folder = "\(root)/\(name)"
      guard access("\(folder)/\(TranscriptRetention.marker)", F_OK) == 0 else { continue }
      guard let last = TranscriptRetention.lastUse(of: folder), now - last >= limit / .seconds(1) else { continue }
      do {
        try FileManager.default.removeItem(atPath: folder)
        removed += 1
      } catch {
        logger.error("assistant: \(folder) could not be removed: \(error)")
      }
    }
    return removed
  }
}
