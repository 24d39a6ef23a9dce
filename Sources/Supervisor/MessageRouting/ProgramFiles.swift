internal import FoundationEssentials
internal import Glibc
internal import RelayConcurrency
internal import RelayHome
internal import RelayModel
internal import RelayWire

/// The images of programs' messages: files that last until the message has ended.
final class ProgramFiles: Sendable {
  /// The folder that all of them are beneath.
  let folder: String
  private let home: HomeDirectory
  /// Messages with files.
  private let owners = Locked<Set<MessageKey>>([])

  static let maximumImages = 8
  /// Of one message.
  static let maximumBytes = 16 << 20

  init(home: HomeDirectory) {
    self.home = home
    folder = home.spool(ConversationKey.programs)
  }

  /// Writes the images of a message.
  func write(_ images: [ProgramPrompt.Image], of key: MessageKey) throws(WireError) -> [Attachment] {
    guard !images.isEmpty else { return [] }
    guard images.count <= Self.maximumImages else {
      throw WireError(.invalidParams, "images: more than \(Self.maximumImages)")
    }
    var contents: [Data] = []
    for (index, image) in images.enumerated() {
      guard let data = Data(base64Encoded: image.data), !data.isEmpty else {
        throw WireError(.invalidParams, "images[\(index)].data: this is no base64")
      }
      contents.append(data)
    }
    guard contents.reduce(0, { $0 + $1.count }) <= Self.maximumBytes else {
      throw WireError(.invalidParams, "images: more than \(ByteCount(Self.maximumBytes)) together")
    }
    owners.withLock { _ = $0.insert(key) }
    do {
      let folder = place(of: key)
      try home.makePrivate(folder)
      var attachments: [Attachment] = []
      for (index, data) in contents.enumerated() {
        let path = "\(folder)/\(index + 1)"
        try Self.write(data, to: path)
        attachments.append(
          Attachment(
            id: "\(index + 1)", name: "image-\(index + 1)", mime: images[index].mime, size: data.count, path: path))
      }
      return attachments
    } catch {
      remove(key)
      throw WireError(.internalError, "the images could not be stored: \(error)")
    }
  }

  private static func write(_ data: Data, to path: String) throws(SystemError) {
    // A file that an interrupted attempt left behind is replaced.
    _ = unlink(path)
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemError("cannot be made", path: path) }
    defer { _ = close(descriptor) }
    var done = 0
    while done < data.count {
      let count = data.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + done, data.count - done) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw SystemError("cannot be written", path: path) }
      done += count
    }
  }

  /// Removes the files of a message that has ended.
  func remove(_ key: MessageKey) {
    guard owners.withLock({ $0.remove(key) }) != nil else { return }
    // Files that cannot be removed are found by the next start.
    try? FileManager.default.removeItem(atPath: place(of: key))
  }

  /// Removes files that no message needs: an earlier daemon ended before it could.
  func sweep(keeping keys: Set<MessageKey>) {
    owners.withLock { $0 = keys }
    let kept = Set(keys.map(place))
    // A folder that is not there holds nothing.
    for session in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(session)")) ?? []
      for name in names where !kept.contains("\(folder)/\(session)/\(name)") {
        try? FileManager.default.removeItem(atPath: "\(folder)/\(session)/\(name)")
      }
      // Fails where something is left.
      _ = rmdir("\(folder)/\(session)")
    }
  }

  /// The ids of programs are names of files; ":" of the stored id included.
  private func place(of key: MessageKey) -> String { "\(folder)/\(key.conversation.conversation)/\(key.id)" }
}
