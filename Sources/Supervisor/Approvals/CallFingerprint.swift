internal import RelayModel

/// Names a call that a rule has matched, so that the same call is recognised and nothing of its input is kept.
package enum CallFingerprint {
  /// The category, the tool, the rule, and 24 hexadecimal digits over them, the directory and the call: a command to its
  /// last sign, and of other calls the path and the summary before it is redacted and shortened.
  package static func of(_ call: ToolCall, _ category: ToolCategory, rule: String) -> String {
    let basis = call.kind == .shell ? [call.wholeSummary] : call.paths + [call.wholeSummary]
    let parts = [call.tool, category.rawValue, rule, call.directory] + basis
    // No part contains the sign between them, so that no two lists of parts read the same.
    let text = parts.map { $0.replacing("\0", with: "\u{FFFD}0") }.joined(separator: "\0")
    let digits = SHA256.digest(of: Array(text.utf8)).prefix(12).flatMap { byte in
      [byte >> 4, byte & 0xF].map { Character(String($0, radix: 16)) }
    }
    return "\(category.rawValue):\(call.tool):\(rule):\(String(digits))"
  }

  /// The readable parts of a fingerprint.
  package struct Name: Sendable, Equatable {
    package let category: String
    package let tool: String
    package let rule: String

    package init(_ fingerprint: String) {
      // Only the name of a tool may contain a colon itself.
      let parts = fingerprint.split(separator: ":", omittingEmptySubsequences: false)
      category = String(parts.first ?? "")
      tool = parts.dropFirst().dropLast(2).joined(separator: ":")
      rule = String(parts.dropLast().last ?? "")
    }
  }
}
