internal import AgentRuntime
internal import AgentSessions
internal import CLinux
internal import Glibc
package import MessageRouting
package import PluginRuntime
package import ProcessSupervision
internal import RelayConcurrency
internal import RelayHome
internal import RelayJSON
internal import RelayStore
internal import RelayTransport
internal import RelayWire
package import SessionCatalog

/// Everything that a daemon passes to the program that takes its place in the same process: children, pipes, and what
/// was under way on them. The rest is in the store.
package struct Handover: Codable, Sendable {
  /// Increased when a program could not continue with the handover of an earlier version.
  package static let format = 5

  var format = Self.format
  /// How often this process has become another program.
  package let count: Int
  package let lock: Int32
  package let listener: Int32
  package let guardian: Guardian.Snapshot
  package let plugins: PluginRegistry.Snapshot
  package let sessions: SessionRegistry.Snapshot
  package let router: Router.Snapshot

  /// Names the descriptor that it is in.
  static let variable = "PI_RELAY_HANDOVER"

  private var descriptors: [Int32] {
    [lock, listener, guardian.input] + plugins.plugins.flatMap { [$0.peer.input, $0.peer.output, $0.errors] }
      + sessions.sessions.flatMap { [$0.connection.input, $0.connection.output, $0.connection.error] }
  }

  /// Takes the handover of the predecessor, if there is one.
  ///
  /// - Throws: when the handover cannot be read. Then no work can be continued.
  package static func take(_ environment: [String: String]) throws -> Handover? {
    guard let text = environment[variable] else { return nil }
    unsetenv(variable)
    guard let descriptor = Int32(text) else { throw Problem("\(variable) is no descriptor") }
    defer { _ = close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    lseek(descriptor, 0, SEEK_SET)
    while case let count = read(descriptor, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
    // Before the rest: of another format nothing else may be read.
    let written = try JSONCoding.decode(Format.self, from: bytes).format
    guard written == format else {
      throw Problem("the handover has format \(written), and this program reads \(format)")
    }
    let handover = try JSONCoding.decode(Handover.self, from: bytes)
    for descriptor in handover.descriptors { _ = relay_keep_on_exec(descriptor, 0) }
    return handover
  }

  private struct Format: Decodable { let format: Int }

  /// Becomes `program`. Returns only when that fails, with everything as it was.
  func execute(_ program: String) -> Problem {
    let file = relay_memory_file("pi-relay-handover")
    guard file >= 0 else { return Problem(SystemError("no memory")) }
    defer { _ = close(file) }
    let kept = descriptors + [file]
    defer { for descriptor in kept { _ = relay_keep_on_exec(descriptor, 0) } }
    do {
      var bytes = try JSONCoding.encode(self)[...]
      while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        guard count > 0 else { return Problem(SystemError("the handover could not be written")) }
        bytes = bytes.dropFirst(count)
      }
    } catch {
      return Problem("the handover could not be written: \(error)")
    }
    for descriptor in kept {
      let code = relay_keep_on_exec(descriptor, 1)
      guard code == 0 else { return Problem(SystemError("descriptor \(descriptor)", code: code)) }
    }
    setenv(Self.variable, "\(file)", 1)
    defer { unsetenv(Self.variable) }
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), strdup("start"), nil]
    defer { for argument in arguments { free(argument) } }
    let code = relay_execute(program, &arguments, environ)
    return Problem(SystemError("could not be executed", path: program, code: code))
  }

  package struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
    init(_ failure: SystemError) { description = failure.description }
  }

  /// Versions of everything that a program can continue with: printed by it, read by its predecessor.
  package struct Compatibility: Codable, Sendable, Equatable {
    package var version: String
    package var format: Int
    package var schema: Int
    package var protocols: [Int]

    package static let own = Compatibility(
      version: Product.version, format: Handover.format, schema: SQLiteStore.schemaVersion,
      protocols: ProtocolVersion.supported)

    /// The obstacle for `new` to take the place of this, for people.
    func obstacle(to new: Compatibility) -> String? {
      if new.format != format {
        return "it cannot continue the running work (handover format \(new.format), this is \(format))"
      }
      if new.schema < schema { return "it is older than the database (schema \(new.schema), this is \(schema))" }
      if !Set(protocols).isSubset(of: new.protocols) { return "it does not speak the plugins' protocol any more" }
      return nil
    }
  }
}
