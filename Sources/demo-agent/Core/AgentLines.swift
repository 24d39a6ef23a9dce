import FoundationEssentials

/// pi's lines, with its keys in its order, in both dialects.
struct AgentLines {
  let dialect: AgentOptions.Dialect
  let model: String

  static func now() -> Int { Int(Date().timeIntervalSince1970 * 1000) }

  /// The stop reason of an assistant's message that has not ended.
  var unfinished: String { dialect == .current ? "pending" : "stop" }

  /// - Parameter isFinal: the message is the provider's whole answer; current releases then have more members.
  private func usage(isFinal: Bool = false) -> OrderedJSON {
    var members: [(String, OrderedJSON)] = [("input", 0), ("output", 0), ("cacheRead", 0), ("cacheWrite", 0)]
    if isFinal { members.append(("reasoning", 0)) }
    members += [
      ("totalTokens", 0), ("cost", ["input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0]),
    ]
    return .object(members)
  }

  func user(_ text: String, images: [OrderedJSON]) -> OrderedJSON {
    let content: [OrderedJSON] = [["type": "text", "text": .string(text)]] + images
    return ["role": "user", "content": .array(content), "timestamp": .integer(Self.now())]
  }

  func assistant(_ content: [OrderedJSON], stopReason: String, error: String? = nil) -> OrderedJSON {
    let isFinal = dialect == .current && ["stop", "toolUse"].contains(stopReason)
    var members: [(String, OrderedJSON)] = [
      ("role", "assistant"), ("content", .array(content)), ("api", "demo"), ("provider", "demo"),
      ("model", .string(model)), ("usage", usage(isFinal: isFinal)), ("stopReason", .string(stopReason)),
      ("timestamp", .integer(Self.now())),
    ]
    if isFinal {
      members += [
        ("responseId", "demo"), ("rawStopReason", .string(stopReason == "toolUse" ? "tool_calls" : stopReason)),
      ]
    }
    if let error { members.append(("errorMessage", .string(error))) }
    return .object(members)
  }

  func toolResult(id: String, name: String, content: [OrderedJSON], failed: Bool) -> OrderedJSON {
    [
      "role": "toolResult", "toolCallId": .string(id), "toolName": .string(name), "content": .array(content),
      "isError": .bool(failed), "timestamp": .integer(Self.now()),
    ]
  }

  func update(_ event: [(String, OrderedJSON)], soFar: OrderedJSON) -> OrderedJSON {
    switch dialect {
    case .current: ["type": "message_update", "usage": usage(), "assistantMessageEvent": .object(event)]
    case .cumulative:
      [
        "type": "message_update", "assistantMessageEvent": OrderedJSON.object(event).adding([("partial", soFar)]),
        "message": soFar,
      ]
    }
  }

  func agentEnd(_ messages: [OrderedJSON], willRetry: Bool) -> OrderedJSON {
    let end: OrderedJSON = ["type": "agent_end", "messages": .array(messages)]
    return dialect == .current ? end.adding([("willRetry", .bool(willRetry))]) : end
  }

  func compaction(_ phase: String, _ members: [(String, OrderedJSON)]) -> OrderedJSON {
    let type = (dialect == .current ? "compaction_" : "auto_compaction_") + phase
    return OrderedJSON.object([("type", .string(type))]).adding(members)
  }

  func response(_ id: String?, _ command: String, error: String? = nil, data: OrderedJSON? = nil) -> OrderedJSON {
    var members: [(String, OrderedJSON)] = []
    if let id { members.append(("id", .string(id))) }
    members += [("type", "response"), ("command", .string(command)), ("success", .bool(error == nil))]
    if let data { members.append(("data", data)) }
    if let error { members.append(("error", .string(error))) }
    return .object(members)
  }
}
