internal import PiRPC
package import ProcessSupervision

extension PiConnection {
  /// A connection between two commands, for the program that continues with it.
  package struct Snapshot: Codable, Sendable {
    package var child: ChildProcess.Snapshot
    package var input: Int32
    package var output: Int32
    package var error: Int32
    var held: [UInt8]
    var heldErrors: [UInt8]
    var nextID: Int
    var dialect: PiStream.Dialect
  }
}
