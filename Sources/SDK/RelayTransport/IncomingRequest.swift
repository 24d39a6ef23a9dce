internal import RelayJSON
package import RelayWire
import Synchronization

/// A request of the other side. Must be answered once, by `reply` or `fail`; forgetting it answers an internal error.
package final class IncomingRequest: Sendable {
  package let method: String
  package let id: RequestID
  private let line: [UInt8]
  private let peer: JSONRPCConnection
  private let answered = Atomic<Bool>(false)

  init(id: RequestID, method: String, line: [UInt8], peer: JSONRPCConnection) {
    self.id = id
    self.method = method
    self.line = line
    self.peer = peer
  }

  deinit {
    fail(WireError(.internalError, "the request was not handled"))
  }

  /// The length of its line in bytes.
  package var size: Int { line.count }

  /// The parameters, or a `WireError` fit to be the answer.
  package func params<Params: WireRequest>(_ type: Params.Type) throws(WireError) -> Params {
    do {
      return try JSONCoding.decode(ParamsOf<Params>.self, from: line).params
    } catch {
      throw WireError(.invalidParams, "\(method): \(JSONCoding.explain(error))")
    }
  }

  /// The parameters as they stand on the line.
  package var encodedParams: [UInt8]? {
    line.withUnsafeBytes { bytes in
      var result: [UInt8]?
      var cursor = JSONCursor(bytes)
      _ = cursor.members { key, cursor in
        guard key.equals("params") else { return true }
        _ = cursor.peek()
        let start = cursor.position
        if cursor.skipValue() { result = Array(bytes[start..<cursor.position]) }
        // Of two the last counts, as it does for the decoder.
        return true
      }
      return result
    }
  }

  package func reply(_ value: some Codable) {
    guard !answered.exchange(true, ordering: .relaxed) else { return }
    peer.answer(id, ResultLine(id: id, result: value))
  }

  package func fail(_ error: WireError) {
    guard !answered.exchange(true, ordering: .relaxed) else { return }
    peer.answer(id, FailureLine(id: id, error: error))
  }
}
