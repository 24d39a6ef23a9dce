internal import PiRPC

/// What people are told of pi's rarer events.
enum NoticeText {
  static func of(_ event: PiEvent) -> String? {
    switch event {
    case .compactionStart(let reason):
      return "🗜️ Compacting the context" + (reason.map { " (\($0))" } ?? "") + "…"
    case .compactionEnd(let aborted, _, let tokens, let error):
      if aborted { return "🗜️ Compaction was stopped." }
      if let error { return "🗜️ Compaction failed: \(error)" }
      return "🗜️ Context compacted" + (tokens.map { " (it had \($0) tokens)." } ?? ".")
    case .retryStart(let attempt, let total, let delay, let error):
      let why = error.map { ": \($0)" } ?? ""
      return "🔁 The model failed\(why). Attempt \(attempt) of \(total) in \(max(1, delay / 1000)) s."
    case .retryEnd(let succeeded, let error):
      return succeeded ? nil : "The last attempt failed" + (error.map { ": \($0)" } ?? ".")
    case .extensionError(let path, let message):
      let file = path.map { " \($0.split(separator: "/").last ?? "")" } ?? ""
      return "⚠️ The extension\(file) failed: \(message)"
    default: return nil
    }
  }

  static func notify(_ message: String, kind: String?) -> String {
    switch kind {
    case "error": "❌ \(message)"
    case "warning": "⚠️ \(message)"
    default: "ℹ️ \(message)"
    }
  }
}
