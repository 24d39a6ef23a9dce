internal import Logging
internal import RelayConcurrency
internal import RelayHome

/// The watched folders that plugins come from: a signal for each change, whichever folders come and go.
struct PluginFolderWatches: Sendable {
  private let folders: HomeDirectory
  private let bundledFolder: String?
  private let logger: Logger
  /// Gets one item for any number of changes; closed to end the watching.
  let changes = Mailbox<Void>(merge: { _, _ in true })
  private var dropped: FolderWatch?
  private var home: FolderWatch?
  private var bundled: FolderWatch?
  /// Folders whose watching failed, which is logged once.
  private var unwatched: Set<String> = []

  init(_ folders: HomeDirectory, bundledFolder: String?, logger: Logger) {
    self.folders = folders
    self.bundledFolder = bundledFolder
    self.logger = logger
  }

  /// Watches the folders that are there now: one may have been removed and made again.
  mutating func renew() {
    if dropped?.isCurrent != true { dropped = watch(folders.plugins) }
    if dropped != nil {
      home = nil
    } else if home == nil {
      // Until the folder in it is back.
      home = watch(folders.path, alsoCreations: true)
    }
    if let folder = bundledFolder, bundled?.isCurrent != true { bundled = watch(folder) }
  }

  mutating func end() {
    (dropped, home, bundled) = (nil, nil, nil)
    changes.close()
  }

  private mutating func watch(_ folder: String, alsoCreations: Bool = false) -> FolderWatch? {
    do {
      let watch = try FolderWatch(folder: folder, alsoCreations: alsoCreations) { [changes] in changes.post(()) }
      unwatched.remove(folder)
      return watch
    } catch {
      if unwatched.insert(folder).inserted { logger.warning("\(folder) is not watched for new plugins: \(error)") }
      return nil
    }
  }
}
