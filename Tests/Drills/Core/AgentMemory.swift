import FoundationEssentials
import TestSupport

/// The messages that the agent's own session files say it was given.
enum AgentMemory {
  /// The people's messages in all sessions of this relay's agents, as they stand there.
  static func messages(of relay: RelayFixture) -> [String] {
    let root = relay.scratch.path + "/agent/sessions"
    let home = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    return home.flatMap { folder in
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)")) ?? []
      return names.flatMap { name in
        let data = FileManager.default.contents(atPath: "\(root)/\(folder)/\(name)") ?? Data()
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
          .filter { $0.contains(#""role":"user""#) }
      }
    }
  }
}
