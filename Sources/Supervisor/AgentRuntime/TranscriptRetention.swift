internal import FoundationEssentials
internal import Glibc

/// The transcript of an assistant's session: a folder of its own, which pi writes and which does not last.
package struct TranscriptRetention: Sendable, Equatable {
  package enum Span: Sendable, Equatable {
    /// The next message begins without a transcript.
    case oneMessage
    /// A message begins without a transcript when the last one was this long ago.
    case idle(Duration)
    /// Nothing is forgotten.
    case kept
  }

  let folder: String
  package let span: Span

  package init(folder: String, span: Span) {
    self.folder = folder
    self.span = span
  }

  /// When something was last kept, in seconds since 1970; nil: nothing is.
  package var lastUse: Double? { Self.lastUse(of: folder) }

  package static func lastUse(of folder: String) -> Double? {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return nil }
    // pi appends to its file: the folder's own time is that of the first message.
    return ([folder] + names.map { "\(folder)/\($0)" }).compactMap { path in
      var status = stat()
      return stat(path, &status) == 0 ? Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9 : nil
    }.max()
  }

  /// The next message begins without a transcript.
  package func isOver(now: Double) -> Bool {
    guard let lastUse else { return false }
    switch span {
    case .oneMessage: return true
    case .kept: return false
    case .idle(let limit): return now - lastUse >= limit / .seconds(1)
    }
  }

  /// Makes the folder, and the one that the agent works in where it is not there. Only the daemon's own user may look in.
  package func prepare(workingIn directory: String) throws {
    defer { Self.mark(folder) }
    for path in [folder, directory] where access(path, F_OK) != 0 {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
  }

  /// In each folder of ours: nothing else is ever swept away.
  package static let marker = ".pi-relay-session"

  private static func mark(_ folder: String) {
    // A folder that cannot be marked stays when its time is over.
    let descriptor = open("\(folder)/\(marker)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor >= 0 { close(descriptor) }
  }

  package func forget() throws {
    guard access(folder, F_OK) == 0 else { return }
    try FileManager.default.removeItem(atPath: folder)
  }
}
