package import RelayModel

extension MessageEnd {
  /// The end of a message of a test, whose life nobody follows.
  package init(of key: MessageKey, _ conclusion: Conclusion, keepsWords: Bool = false) {
    self.init(restored: key, conclusion.stage, conclusion.outcome, keepsWords: keepsWords)
  }
}
