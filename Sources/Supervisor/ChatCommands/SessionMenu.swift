package import RelayModel
internal import RelayText
package import RelayWire

/// The sessions as a list, a page at a time, and as buttons where a messenger has them. A pure value.
package struct SessionMenu {
  package let text: String
  package let isEmpty: Bool
  /// `nil` where there are no sessions, or the messenger has no buttons.
  package let buttons: [[Button]]?

  /// For a conversation that talks to no session and cannot begin one by writing.
  package static let advice = "Choose one with /sessions and /use, or begin one with /new."

  private static let defaultPage = 40
  /// Of a page's lines, in UTF-16 units: the shortest messages there are hold 2,000.
  private static let maximumText = 1_800

  /// - Parameters:
  ///   - beginsByWriting: a message begins a session where there is none.
  ///   - current: the session that the conversation talks to.
  ///   - page: from 1.
  ///   - limits: of the messenger's buttons; nil where it has none.
  ///   - command: the one that shows another page.
  package init(
    sessions: [SessionStatus], beginsByWriting: Bool = true, current: String?, page: Int, limits: ButtonLimits?,
    command: String = "/sessions"
  ) {
    isEmpty = sessions.isEmpty
    guard !sessions.isEmpty else {
      text = "There are no sessions. " + (beginsByWriting ? "Write something to begin one." : "Begin one with /new.")
      buttons = nil
      return
    }
    let limits = limits.flatMap { $0.idLength >= Self.maximumID ? $0 : nil }
    let lines = sessions.enumerated().map { Self.line($0.offset + 1, $0.element, current) }
    let size = Self.pageSize(lines, hasCurrent: current != nil, limits)
    let pages = (sessions.count + size - 1) / size
    let page = min(max(page, 1), pages)
    let shown = sessions.enumerated().dropFirst((page - 1) * size).prefix(size)
    let title = "Sessions (\(sessions.count))" + (pages > 1 ? ", page \(page) of \(pages)" : "") + ":"
    let more = page < pages ? ["\(command) \(page + 1) shows more."] : []
    text = ([title] + shown.map { lines[$0.offset] } + more).joined(separator: "\n")
    buttons = limits.map { limits in
      let all = shown.map { Self.button($0.element, current, limits) }
      let rows = stride(from: 0, to: all.count, by: limits.perRow).map {
        Array(all[$0..<min($0 + limits.perRow, all.count)])
      }
      let controls = Self.controls(page, of: pages, current)
      return controls.isEmpty ? rows : rows + [Array(controls.prefix(limits.perRow))]
    }
  }

  /// As many as there are buttons for, and whose lines fit into one message.
  private static func pageSize(_ lines: [String], hasCurrent: Bool, _ limits: ButtonLimits?) -> Int {
    var size = defaultPage
    if let limits {
      let isAllOnOne = !hasCurrent && lines.count <= limits.rows * limits.perRow
      size = isAllOnOne ? lines.count : max(1, limits.rows - 1) * limits.perRow
    }
    while size > 1, maximumPage(lines, size) > maximumText { size -= 1 }
    return size
  }

  private static func maximumPage(_ lines: [String], _ size: Int) -> Int {
    stride(from: 0, to: lines.count, by: size).map { start in
      lines[start..<min(start + size, lines.count)].reduce(0) { $0 + $1.utf16.count + 1 }
    }.max() ?? 0
  }

  private static func line(_ number: Int, _ status: SessionStatus, _ current: String?) -> String {
    "\(number). \(status.name) — \(status.words)"
      + (status.model.map { " — \(TextSanitizer.line($0, limit: 60))" } ?? "") + (status.id == current ? " ← here" : "")
  }

  private static func button(_ status: SessionStatus, _ current: String?, _ limits: ButtonLimits) -> Button {
    let style: Button.Style =
      if status.id == current { .success } else if status.activity == .asleep { .secondary } else { .primary }
    return Button(
      id: "use:\(status.id)", label: TextSanitizer.line(status.name, limit: limits.labelLength), style: style)
  }

  private static func controls(_ page: Int, of pages: Int, _ current: String?) -> [Button] {
    var controls: [Button] = []
    if page > 1 { controls.append(Button(id: "sessions:\(page - 1)", label: "◀", style: .secondary)) }
    if page < pages { controls.append(Button(id: "sessions:\(page + 1)", label: "▶", style: .secondary)) }
    if current != nil { controls.append(Button(id: "disconnect:", label: "Disconnect", style: .danger)) }
    return controls
  }

  /// `use:` and a session's id.
  private static let maximumID = 40

  /// The command of a menu's button; `nil` for a button of anything else.
  package static func command(ofButton id: String) -> String? {
    let parts = id.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, ["use", "sessions", "disconnect"].contains(parts[0]) else { return nil }
    return "/\(parts[0]) \(parts[1])".trimmingWhitespace()
  }
}
