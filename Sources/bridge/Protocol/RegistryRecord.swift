/// The state of a session as registry files and answers give it.
package struct RegistryRecord: Codable, Sendable, Equatable {
  package struct Model: Codable, Sendable, Equatable {
    package var provider: String?
    package var id: String?
    package var name: String?

    package init(provider: String?, id: String?, name: String?) {
      self.provider = provider
      self.id = id
      self.name = name
    }
  }

  package var `protocol` = BridgeProtocol.version
  /// The agent's process.
  package var pid: Int32
  package var hostname: String
  package var cwd: String
  package var sessionId: String?
  package var sessionFile: String?
  package var sessionName: String?
  package var model: Model?
  package var thinkingLevel: String?
  package var isIdle: Bool?
  package var hasPendingMessages: Bool?
  package var socketPath: String
  package var bridgeDir: String
  /// ISO 8601 times in UTC.
  package var startedAt: String
  package var updatedAt: String
  package var lastReason: String?
  package var parentSessionId: String?
  package var childRole: String?
  /// The kernel's start time of `pid`, in clock ticks since boot: tells a reused process id from this one. Bridges of
  /// others leave it out.
  package var processStartTime: UInt64?

  package init(
    pid: Int32, processStartTime: UInt64?, hostname: String, cwd: String, socketPath: String, bridgeDir: String,
    startedAt: String, updatedAt: String
  ) {
    self.pid = pid
    self.processStartTime = processStartTime
    self.hostname = hostname
    self.cwd = cwd
    self.socketPath = socketPath
    self.bridgeDir = bridgeDir
    self.startedAt = startedAt
    self.updatedAt = updatedAt
  }
}
