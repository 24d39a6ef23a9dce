package import RelayTransport

/// The surroundings of a chat: the variables and the folder it was started with, and its way to the daemon.
package struct ChatEnvironment: Sendable {
  let variables: [String: String]
  /// The folder in which the agent works.
  let directory: String
  /// The file of the lines entered at a terminal, for the arrow keys.
  let historyFile: String
  /// Connects to the daemon; `nil` while none runs.
  let connect: @Sendable () -> JSONRPCConnection?

  package init(
    variables: [String: String], directory: String, historyFile: String,
    connect: @escaping @Sendable () -> JSONRPCConnection?
  ) {
    self.variables = variables
    self.directory = directory
    self.historyFile = historyFile
    self.connect = connect
  }
}
