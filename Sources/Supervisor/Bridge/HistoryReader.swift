internal import BridgeProtocol
internal import RelayJSON
internal import RelayWire

/// The envelopes and the history of a bridge, read from its journal.
struct HistoryReader: Sendable {
  /// The journal's file, which clients are told.
  let path: String
  let limits: BridgeLimits

  // MARK: - Envelopes

  func envelope(_ event: String, _ time: String, _ data: UnsafeRawBufferPointer, _ ref: Int?) -> BridgeEnvelope {
    let summary = EventSummary(of: data, named: event, limits: limits)
    return BridgeEnvelope(
      event: event, timestamp: time, data: summary.data,
      originalBytes: summary.isTruncated ? summary.originalBytes : nil,
      raw: summary.isTruncated && limits.spillRawEvents ? ref.map { (path, $0) } : nil)
  }

  /// The summary of an `agent_end` that was too long to be read, made from the messages of its run.
  func summary(
    ofCut event: String, _ data: UnsafeRawBufferPointer, _ journal: EventJournal
  ) throws -> [UInt8]? {
    guard event == "agent_end", JSONFields(data)?["messages"] == nil else { return nil }
    try journal.flush()
    var messages = 0
    var answer: [UInt8]?
    for entry in try journal.entries().reversed() {
      if entry.event == "agent_start" { break }
      guard entry.event == "message_end" else { continue }
      messages += 1
      guard answer == nil, let record = try journal.record(entry) else { continue }
      answer = record.data.withUnsafeBytes { buffer in
        guard let fields = JSONFields(buffer), fields.object("message")?.text("role") == "assistant" else { return nil }
        return fields["message"].map { Array($0) }
      }
    }
    let text = answer ?? []
    return text.withUnsafeBytes {
      EventSummary.agentEnd(messages: messages, answer: answer == nil ? nil : $0, limits: limits)
    }
  }

  // MARK: - History

  /// The answer to a request for history: a JSON object.
  func answer(_ query: BridgeRequest.HistoryQuery, from journal: EventJournal) throws -> [UInt8] {
    try journal.flush()
    let candidates = BridgeHistory.candidates(among: try journal.entries(), query, limits: limits)
    let maximum = query.maxBytes ?? limits.maxHistoryResponseBytes
    var problems: [String] = []
    let (chosen, isTruncated) = try BridgeHistory.newest(of: candidates, maximumBytes: maximum) { entry in
      try compact(entry, journal).map { ($0, $0.envelope.json.count) }
    }
    var events = chosen.map(\.envelope)
    if query.raw { restore(&events, chosen, maximum, &problems) }
    var answer = JSONObjectText()
    answer.add(
      "events", json: Array("[".utf8) + events.map(\.json).joined(separator: [UInt8(ascii: ",")]) + Array("]".utf8))
    answer.add("totalEvents", candidates.count)
    answer.add("responseTruncated", isTruncated)
    answer.add("rawSpillPath", path)
    if !problems.isEmpty { answer.add("rawErrors", .array(problems.map { .string($0) })) }
    return answer.closed
  }

  private struct Found {
    let record: EventJournal.Record
    var envelope: BridgeEnvelope
  }

  private func compact(_ entry: BridgeHistory.Entry, _ journal: EventJournal) throws -> Found? {
    guard let record = try journal.record(entry) else { return nil }
    var envelope: BridgeEnvelope
    if record.isSummary {
      envelope = BridgeEnvelope(
        event: entry.event, timestamp: BridgeTimestamp.text(entry.time), data: record.data,
        originalBytes: record.originalBytes, rawError: record.problem)
    } else {
      envelope = record.data.withUnsafeBytes {
        self.envelope(entry.event, BridgeTimestamp.text(entry.time), $0, entry.ref)
      }
    }
    return Found(record: record, envelope: envelope)
  }

  /// Puts whole events into the places of their summaries, the newest first, as far as they fit.
  private func restore(
    _ events: inout [BridgeEnvelope], _ found: [Found], _ maximum: Int, _ problems: inout [String]
  ) {
    var size = events.reduce(0) { $0 + $1.json.count }
    for index in events.indices.reversed() where events[index].originalBytes != nil {
      let record = found[index].record
      if record.isSummary {
        if let problem = record.problem { problems.append(problem) }
        continue
      }
      var whole = events[index]
      whole.data = record.data
      whole.originalBytes = nil
      whole.isRestored = true
      let grown = size - events[index].json.count + whole.json.count
      guard events.count == 1 || maximum <= 0 || grown <= maximum else { continue }
      events[index] = whole
      size = grown
    }
  }
}
