/// The model of a session: the one that was chosen, and the one that people are shown. A pure value.
package struct ModelSelection: Sendable, Equatable {
  /// Chosen for this session; otherwise the configured one, or the agent's own.
  package private(set) var chosen: String?
  /// The agent's, as last told, or one that was chosen since.
  package private(set) var shown: String?
  /// The running agent does not have the chosen model yet.
  package private(set) var needsRestart = false

  package init(chosen: String?, shown: String?) {
    self.chosen = chosen
    self.shown = shown
  }

  package mutating func choose(_ model: String, isIdle: Bool) {
    chosen = model
    shown = model
    if !isIdle { needsRestart = true }
  }

  /// Takes the model that the agent names.
  ///
  /// - Returns: whether people are shown another one now.
  package mutating func learn(_ model: String?) -> Bool {
    // Another one has been chosen, which the agent has from its next start on.
    guard !needsRestart, let model, model != shown else { return false }
    shown = model
    return true
  }

  /// - Returns: whether the agent must be restarted now.
  package mutating func takeRestart() -> Bool {
    defer { needsRestart = false }
    return needsRestart
  }
}
