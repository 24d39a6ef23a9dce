internal import ProcessSupervision
internal import RelayJSON
internal import RelayTransport

/// The contents of a TOML file, read by a program that came with the daemon.
enum TOMLFile {
  struct Failure: Error, Sendable, CustomStringConvertible {
    let description: String

    package init(description: String) {
      self.description = description
    }
  }

  /// - Parameter reader: the program that says it as JSON.
  static func read(
    _ path: String, with reader: String, environment: [String: String], clock: any Clock<Duration> = LoopClock.shared
  ) async throws(Failure) -> JSONValue {
    let run: ProcessOutput
    do {
      run = try await ProcessOutput(
        .init(
          name: "pi-relay-toml", path: reader, arguments: [path],
          environment: ChildEnvironment.plugin(from: environment, markers: []), directory: nil),
        guardian: nil, limit: .seconds(10), clock: clock)
    } catch {
      throw Failure(description: "\(path) could not be read: \(error)")
    }
    guard run.exit == .exited(0) else {
      throw Failure(description: run.errors.last ?? "\(path) could not be read: \(run.exit)")
    }
    do {
      return try JSONCoding.decode(JSONValue.self, from: Array(run.output.joined(separator: "\n").utf8))
    } catch {
      throw Failure(description: "\(path) could not be read: \(error)")
    }
  }
}
