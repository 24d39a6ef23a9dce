package import PiRPC
internal import RelayText
internal import RelayWire

/// The words for pi's rarer events.
package struct NoticeText {
  /// The retry in progress, in words.
  private var retry: (why: String, number: String)?

  package init() {}

  /// The words for an event; nil for one that is not told like this.
  package mutating func event(for event: PiEvent) -> SessionEvent? {
    switch event {
    case .compactionStart: return .progress(.compaction, Self.compacting, isOver: false)
    case .compactionEnd(let aborted, _, let tokens, let error):
      let text = aborted ? "🗜️ Compaction was stopped." : Self.compacted(tokensBefore: tokens, error: error)
      return .progress(.compaction, text, isOver: true)
    case .retryStart(let attempt, let total, let delay, let error):
      var why = error.map { TextSanitizer.line(ServiceError.words($0), limit: 300) } ?? "The model failed"
      if why.hasSuffix(".") { why.removeLast() }
      retry = (why, "\(attempt) of \(total)")
      return .progress(
        .retry,
        "🔁 \(why): trying again in \(max(.seconds(1), Duration.milliseconds(delay)).forPeople), \(attempt) of \(total).",
        isOver: false)
    case .retryEnd(let succeeded, _):
      defer { retry = nil }
      // The end of the run says why it failed.
      guard succeeded else { return .progress(.retry, nil, isOver: true) }
      let text = retry.map { "🔁 \($0.why): retry \($0.number) succeeded." } ?? "🔁 A retry succeeded."
      return .progress(.retry, text, isOver: true)
    case .extensionError(let path, let message):
      let file = path.map { " \($0.split(separator: "/").last ?? "")" } ?? ""
      return .notice("⚠️ The extension\(file) failed: \(message)")
    case .notify(let message, let kind): return .notice(Self.notify(message, kind: kind))
    default: return nil
    }
  }

  package static let compactionStopped = "🗜️ The compaction was stopped."
  package static let compacting = "🗜️ Compacting the context…"

  package static func compacted(tokensBefore tokens: Int64?, error: String?) -> String {
    if let error { return "🗜️ Not compacted: \(ServiceError.words(error))" }
    return "🗜️ Context compacted" + (tokens.map { ": it had \(TokenCount($0)) tokens." } ?? ".")
  }

  private static func notify(_ message: String, kind: String?) -> String {
    switch kind {
    case "error": "❌ \(message)"
    case "warning": "⚠️ \(message)"
    default: "ℹ️ \(message)"
    }
  }
}
