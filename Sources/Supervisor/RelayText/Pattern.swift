internal import CPCRE2

/// A regular expression of the configuration, matched within bounds: a match that takes too many steps is given up.
///
/// `@unchecked`: the compiled expression never changes, and PCRE2 lets threads share it.
package final class Pattern: @unchecked Sendable {
  private let code: OpaquePointer

  /// Steps for all matches in one text, where each begins with its own limit.
  private static let steps = 50_000_000
  /// A long text leaves each match so many all the same.
  private static let leastSteps = 10_000

  /// Compiles the expression; the result is `nil` when it is not a regular expression.
  package convenience init?(_ text: String) { self.init(text, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C) }

  /// Compiles an expression, or a text of which every sign is meant, for a search in any case. `^` and `$` match at every
  /// line, and `.` also matches the end of a line.
  package convenience init?(anyCase text: String, isLiteral: Bool) {
    let forExpressions = PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_MULTILINE | PCRE2_DOTALL
    self.init(text, PCRE2_UTF | PCRE2_CASELESS | (isLiteral ? PCRE2_LITERAL : forExpressions))
  }

  private init?(_ text: String, _ options: UInt32) {
    var (text, problem, place) = (text, Int32(0), 0)
    let code = text.withUTF8 { pcre2_compile_8($0.baseAddress, $0.count, options, &problem, &place, nil) }
    guard let code else { return nil }
    self.code = code
  }

  deinit { pcre2_code_free_8(code) }

  /// Reports whether the expression matches anywhere; `nil` where that was given up.
  package func isFound(in text: String) -> Bool? {
    let context = pcre2_match_context_create_8(nil)
    let match = pcre2_match_data_create_8(1, nil)
    defer {
      pcre2_match_data_free_8(match)
      pcre2_match_context_free_8(context)
    }
    var text = text
    return text.withUTF8 { bytes in
      pcre2_set_match_limit_8(context, Self.limit(for: bytes.count))
      let found = pcre2_match_8(code, bytes.baseAddress, bytes.count, 0, PCRE2_NO_UTF_CHECK, match, context)
      return found == PCRE2_ERROR_NOMATCH ? false : found >= 0 ? true : nil
    }
  }

  private static func limit(for count: Int) -> UInt32 { UInt32(max(leastSteps, steps / max(1, count))) }

  /// Replaces what matches.
  ///
  /// - Returns: nil where that was given up.
  package func replacing(in text: String, with replacement: String) -> String? {
    guard !text.isEmpty else { return text }
    let context = pcre2_match_context_create_8(nil)
    let match = pcre2_match_data_create_8(1, nil)
    defer {
      pcre2_match_data_free_8(match)
      pcre2_match_context_free_8(context)
    }
    var text = text
    return text.withUTF8 { bytes in
      pcre2_set_match_limit_8(context, Self.limit(for: bytes.count))
      var result: [UInt8] = []
      var end = 0
      while true {
        let found = pcre2_match_8(
          code, bytes.baseAddress, bytes.count, end, PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK, match, context)
        if found == PCRE2_ERROR_NOMATCH { break }
        guard found >= 0, let range = pcre2_get_ovector_pointer_8(match), range[0] >= end, range[1] > end else {
          return nil
        }
        result += bytes[end..<range[0]] + Array(replacement.utf8)
        end = range[1]
      }
      return end == 0 ? String(decoding: bytes, as: UTF8.self) : String(decoding: result + bytes[end...], as: UTF8.self)
    }
  }
}
