internal import Glibc
public import PluginSDK
internal import RelayWire

/// A file that the host asks to send.
public struct OutgoingFile: Sendable {
  /// The file's path, beneath the instance's spool folder.
  public let path: String
  /// The name that people see; never empty.
  public let name: String
  /// The MIME type; `nil` where it is not known.
  public let mime: String?
  /// The file's size in bytes; zero for a file that is not there.
  public let size: Int

  /// Takes the file of a request, and asks the system for its size.
  public init(_ request: FileSend) {
    path = request.path
    name = request.name.isEmpty ? "file" : request.name
    mime = request.mime
    var status = stat()
    size = stat(request.path, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Compares the file's size with a limit.
  ///
  /// - Parameters:
  ///   - limit: the largest size that the service takes, in bytes.
  ///   - service: its name, for the person.
  /// - Throws: `tooLarge`: the host gives the file up and tells the person.
  public func check(limit: Int, at service: String) throws(DeliveryFailure) {
    guard size > limit else { return }
    throw .tooLarge("\(name) has \(ByteCount(size)), which is more than \(service) takes here")
  }
}
