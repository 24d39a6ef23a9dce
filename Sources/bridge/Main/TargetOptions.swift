import ArgumentParser
import BridgeClient
import FoundationEssentials
import Glibc
import RelayJSON
import RelayWire

/// The options that say which bridge is meant.
struct TargetOptions: ParsableArguments {
  @Option(help: "The agent's process id.") var pid: Int32?
  @Option(help: "The path of a bridge's socket; no registry file is looked for.") var socket: String?
  @Option(help: "A part of the session's id or file.") var session: String?
  @Option(help: "A part of the session's name.") var name: String?
  @Option(help: "A part of the working directory.") var cwd: String?
  @Option(help: "The folder of the registry; PI_BRIDGE_DIR, or /tmp/pi-session-bridge-<uid>, if left out.")
  var bridgeDir: String?
  @Option(
    help: "Seconds until the session must have been connected to and have answered; for `wait`, until it must be idle.")
  var timeout: Double = 30

  @Flag(help: "Prints JSON where there is other output: the state after `wait`, the events of `tail`, and every error.")
  var json = false

  func validate() throws {
    guard timeout > 0, timeout <= 86_400 else {
      throw ValidationError("--timeout: give more than 0 and at most 86400 seconds")
    }
  }

  var directory: BridgeDirectory {
    BridgeDirectory(chosen: bridgeDir, environment: ProcessInfo.processInfo.environment)
  }

  /// - Returns: the conversation, and the time at which `--timeout` is over.
  func connect() throws -> (BridgeConversation, deadline: ContinuousClock.Instant) {
    let deadline = ContinuousClock.now + .seconds(timeout)
    return (try BridgeConversation(with: path(), until: deadline), deadline)
  }

  private func path() throws -> String {
    let target = BridgeTarget(pid: pid, socket: socket, session: session, name: name, directory: cwd)
    switch target.choose(among: socket == nil ? try directory.listings() : []) {
    case .one(let path): return path
    case .none: throw BridgeError("No matching active pi session bridge. Use `pi-bridge list`.")
    case .several(let listings): throw SeveralBridges(listings: listings)
    }
  }

  /// Sends one request, prints its answer, and ends with 1 where it is a refusal.
  func exchange(_ request: [String: JSONValue]) throws {
    var (conversation, deadline) = try connect()
    let answer = try conversation.ask(.object(request), until: deadline)
    print(String(decoding: prettyJSON(answer), as: UTF8.self))
    let isSuccess = try JSONCoding.decode(JSONValue.self, from: answer)["success"]?.boolValue == true
    if !isSuccess { throw ExitCode(1) }
  }
}

/// The target's words fit several bridges.
struct SeveralBridges: Error, CustomStringConvertible {
  let listings: [BridgeListing]

  var description: String {
    "Multiple matching pi session bridges. Add --pid, --session, --name, or --socket."
  }
}

/// The list of bridges as people and scripts read it: columns with tabs between them.
enum BridgeTable {
  static func text(of listings: [BridgeListing]) -> String {
    guard !listings.isEmpty else { return "No active pi session bridges found." }
    let rows = listings.map { listing in
      [
        "\(listing.pid)", listing.isIdle.map { $0 ? "yes" : "no" } ?? "?", String((listing.session ?? "-").prefix(8)),
        listing.name ?? "-", listing.directory ?? "-", listing.socket ?? "-",
      ].map(Self.cell).joined(separator: "\t")
    }
    return (["PID\tIDLE\tSESSION\tNAME\tCWD\tSOCKET"] + rows).joined(separator: "\n")
  }

  /// A name may hold anything; a row is one line of six cells.
  private static func cell(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
  }
}
