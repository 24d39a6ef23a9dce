import CEdit
import Formatter
import Glibc
import RelayWire

/// Lines for standard output: styled where it is a terminal that shows styles, and never with a control sequence that
/// somebody else has written.
struct ChatText {
  private let isStyled: Bool

  /// https://no-color.org: any value but an empty one asks for no styles.
  init(environment: [String: String]) {
    isStyled =
      isatty(1) == 1 && environment["NO_COLOR"]?.isEmpty != false && environment["TERM"] != "dumb"
  }

  /// Markdown is laid out here, for the width that the terminal has.
  var dialect: String { isStyled ? "markdown" : "plain" }

  func lines(of text: String, _ role: MessageRole?) -> [TerminalLine] {
    let columns = Self.terminalSize.columns
    let role = role ?? .answer
    guard isStyled else { return TerminalLine.plain(text, columns: columns) }
    if role == .answer || role == .tools { return TerminalMarkdown(columns: columns).lines(of: text) }
    guard role == .dialog else { return TerminalLine.plain(text, columns: columns, .dim) }
    // The title is Markdown; the rest is the agent's text as it is.
    let parts = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    return TerminalMarkdown(columns: columns).lines(of: parts[0])
      + (parts.count > 1 ? TerminalLine.plain(parts[1], columns: columns) : [])
  }

  static var terminalSize: (columns: Int, rows: Int) {
    var columns: Int32 = 80
    var rows: Int32 = 24
    relay_terminal_size(&columns, &rows)
    return (Int(columns), Int(rows))
  }
}
