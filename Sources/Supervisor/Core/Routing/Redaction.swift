/// Takes out of all that a conversation is shown what looks like a secret, line by line: a secret that is cut in two by the
/// end of a line is not found.
struct Redaction {
  static let replacement = "[redacted]"
  /// In the configuration it stands for `usual`.
  static let usualName = "usual"

  /// Tokens of well-known services, and what is assigned to variables named after secrets.
  static let usual = [
    #"\b\d{8,}:[A-Za-z0-9_\-]{20,}"#,
    #"\b(?:sk|rk|pk)[\-_][A-Za-z0-9_\-]{16,}"#,
    #"\bgh[pousr]_[A-Za-z0-9]{16,}"#,
    #"\bgithub_pat_[A-Za-z0-9_]{20,}"#,
    #"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"#,
    #"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+"#,
    #"\bxox[abeoprs]-[A-Za-z0-9\-]{10,}"#,
    #"\b[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,}"#,
    #"\bBearer +[A-Za-z0-9._~+/\-]{16,}=*"#,
    #"\b[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD)=\S{6,}"#,
  ]

  private let patterns: [Regex<AnyRegexOutput>]

  /// - Parameter patterns: regular expressions, which the configuration's reader has found to be some, and `usual`.
  init(_ patterns: [String]) {
    self.patterns = patterns.flatMap { $0 == Self.usualName ? Self.usual : [$0] }
      .compactMap { try? Regex($0).matchingSemantics(.unicodeScalar) }
  }

  var isEmpty: Bool { patterns.isEmpty }

  func apply(to text: String) -> String {
    guard !isEmpty else { return text }
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      patterns.reduce(String(line)) { $0.replacing($1, with: Self.replacement) }
    }.joined(separator: "\n")
  }
}
