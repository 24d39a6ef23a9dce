package import RelayJSON
internal import RelayWire

/// Events of a session as a person at a terminal reads them.
package struct LiveView {
  private let isColoured: Bool
  /// The cursor is behind text on its line.
  private var isInLine = false
  private var isThinking = false

  package init(isColoured: Bool) {
    self.isColoured = isColoured
  }

  private enum Style: String {
    case dim = "2"
    case bold = "1"
    case red = "31"
    case green = "32"
    case yellow = "33"
    case cyan = "36"
  }

  /// - Parameter state: of the session, when the view begins.
  package mutating func greeting(_ state: JSONValue) -> String {
    let name = state["sessionName"]?.stringValue ?? state["sessionId"]?.stringValue ?? "session"
    let model = state["model"]?["name"]?.stringValue ?? state["model"]?["id"]?.stringValue
    let facts = [state["cwd"]?.stringValue, model, state["isIdle"]?.boolValue.map { $0 ? "idle" : "at work" }]
    return line("● \(plain(name))", .bold, " \(plain(facts.compactMap(\.self).joined(separator: " · ")))")
  }

  /// The text to print for one line of the bridge; empty for lines that tell a person nothing.
  package mutating func text(for value: JSONValue) -> String {
    guard value["type"]?.stringValue == "event" else {
      if value["type"]?.stringValue == "bridge_error" { return line("✗ \(plain(value["error"]))", .red) }
      return ""
    }
    let data = value["data"] ?? .null
    switch value["event"]?.stringValue {
    case "input": return line("▶ \(plain(data["textPreview"] ?? data["text"]))\(cut(data, "text"))", .cyan)
    case "message_update": return delta(data)
    case "message_end": return breakLine()
    case "tool_execution_start":
      return line("⚙ \(plain(data["toolName"]))", .yellow, " \(plain(data["argsPreview"]))")
    case "tool_execution_end":
      let failed = data["isError"]?.boolValue == true
      return line("\(failed ? "✗" : "✓") \(plain(data["toolName"]))", failed ? .red : .green)
    case "question": return question(data)
    case "agent_end": return line(data["willRetry"]?.boolValue == true ? "… the run is tried again" : "■ done", .dim)
    case "session_compact": return line("⟲ the conversation was compacted", .dim)
    case "bridge_emit": return line("✉ \(plain(data["message"]))", .cyan)
    case "bridge_pong": return line("◦ \(plain(data["text"]))", .dim)
    case "activity", "relay_activity", "kendex_activity", "vstack_activity":
      return line("• \(plain(data["summary"]))", data["severity"]?.stringValue == "error" ? .red : .dim)
    default: return ""
    }
  }

  private mutating func delta(_ data: JSONValue) -> String {
    let isThought = data["type"]?.stringValue?.hasPrefix("thinking") == true
    guard data["type"]?.stringValue?.hasSuffix("_delta") == true, data["type"]?.stringValue != "toolcall_delta",
      let text = data["deltaPreview"]?.stringValue, !text.isEmpty
    else { return "" }
    let start = isThought == isThinking ? "" : breakLine()
    isThinking = isThought
    isInLine = !text.hasSuffix("\n")
    return start + styled(plain(text, keepsLines: true) + cut(data, "delta"), isThought ? .dim : nil)
  }

  /// A preview that is not the whole says so.
  private func cut(_ data: JSONValue, _ key: String) -> String {
    let shown = data["\(key)Preview"]?.stringValue?.utf8.count
    return data["\(key)Bytes"]?.integerValue.map { $0 > shown ?? 0 } == true ? "…" : ""
  }

  /// A question that is asked is shown whole, with a line for each of its parts; of its end, the outcome.
  private mutating func question(_ data: JSONValue) -> String {
    let id = plain(data["requestId"] ?? data["request"]?["id"])
    // Another publisher of such events keeps the questions in a `request`.
    guard let questions = (data["questions"] ?? data["request"]?["questions"])?.arrayValue, !questions.isEmpty else {
      let outcome = [data["action"], data["answer"] ?? data["reason"]].map { plain($0) }.filter { !$0.isEmpty }
      let person = data["by"].map { " by \(plain($0))" } ?? ""
      return line("? \(outcome.joined(separator: ": "))\(person)", .dim, " (\(id))")
    }
    return questions.map { question in
      let options = (question["options"]?.arrayValue ?? []).map { plain($0["label"]) }
      return line(
        "? \(plain(question["question"]))", .yellow,
        " \(options.isEmpty ? "" : "[\(options.joined(separator: " | "))] ")(\(id))")
    }.joined()
  }

  // MARK: - Lines

  private mutating func breakLine() -> String {
    defer { isInLine = false }
    return isInLine ? "\n" : ""
  }

  private mutating func line(_ head: String, _ style: Style, _ rest: String = "") -> String {
    isThinking = false
    return breakLine() + styled(head, style) + rest + "\n"
  }

  private func styled(_ text: String, _ style: Style?) -> String {
    guard isColoured, let style else { return text }
    return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
  }

  private func plain(_ value: JSONValue?) -> String { plain(value?.stringValue ?? "") }

  /// Removes control characters: text of an agent must not command the viewer's terminal.
  private func plain(_ text: String, keepsLines: Bool = false) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.compactMap { scalar in
          guard scalar.properties.generalCategory == .control else { return scalar }
          return scalar == "\n" || scalar == "\t" ? (keepsLines ? scalar : " ") : nil
        }))
  }
}
