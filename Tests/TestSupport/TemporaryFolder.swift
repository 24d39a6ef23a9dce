import FoundationEssentials
import Glibc

/// A folder of one test's own, removed with it unless PI_RELAY_KEEP_SCRATCH is set.
public final class TemporaryFolder: Sendable {
  /// The absolute path; short, because Unix sockets live in the folder.
  public let path: String

  /// Makes the folder, for this user only.
  public init() throws {
    // Short: Unix sockets live in here.
    path = "/tmp/pr-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    chmod(path, 0o700)
  }

  deinit {
    if getenv("PI_RELAY_KEEP_SCRATCH") == nil { try? FileManager.default.removeItem(atPath: path) }
  }

  /// Writes a file, executable if wanted; in place at once, as `mv` does.
  @discardableResult
  public func write(_ name: String, _ text: String, executable: Bool = false) throws -> String {
    let target = "\(path)/\(name)"
    try Data(text.utf8).write(to: URL(filePath: target + ".tmp"))
    chmod(target + ".tmp", executable ? 0o755 : 0o600)
    guard rename(target + ".tmp", target) == 0 else { throw CocoaError(.fileWriteUnknown) }
    return target
  }

  /// The text of a file in the folder; empty for a file that is not there.
  public func read(_ name: String) -> String {
    FileManager.default.contents(atPath: "\(path)/\(name)").map { String(decoding: $0, as: UTF8.self) } ?? ""
  }
}

/// The executables that were built with the tests.
public enum Built {
  /// The folder of the executables, which is that of the test bundle.
  public static let folder: String = {
    let program = CommandLine.arguments[0]
    let bundle = program.hasPrefix("/") ? program : FileManager.default.currentDirectoryPath + "/" + program
    return bundle.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
  }()

  /// The path of a built executable, which need not exist.
  public static func executable(_ name: String) -> String { "\(folder)/\(name)" }
}
