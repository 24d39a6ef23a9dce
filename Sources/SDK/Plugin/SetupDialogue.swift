internal import RelayTransport

/// The person who sets a plugin up, as the plugin sees them.
public struct SetupDialogue: Sendable {
  private let peer: JSONRPCConnection

  /// How long somebody may think.
  private static let patience: Duration = .seconds(3_600)

  init(_ peer: JSONRPCConnection) { self.peer = peer }

  /// Shows the person a text. Returns once it is shown.
  public func say(_ text: String) async throws {
    _ = try await peer.request(SetupSay(text: text), within: Self.patience)
  }

  /// - Parameter name: by which the answer may be given with the command.
  /// - Returns: the answer, without blanks around it.
  public func ask(_ name: String, _ question: String, secret: Bool = false) async throws -> String {
    let request = SetupAsk(name: name, question: question, secret: secret ? true : nil)
    let answer = try await peer.request(request, within: Self.patience).answer
    return String(answer.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }
}
