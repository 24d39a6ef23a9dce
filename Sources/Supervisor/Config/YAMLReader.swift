internal import CYAML
internal import RelayWire

/// Something wrong with the file as YAML.
package struct YAMLError: Error, Sendable, Equatable {
  package var message: String
  package var mark: Mark
}

/// Reads one YAML document through libyaml's events, within bounds: no aliases, no duplicate keys, limited depth.
package enum YAMLReader {
  static let maximumBytes = 1 << 20
  static let maximumDepth = 32
  static let maximumNodes = 100_000

  /// Parses the document; the result is `nil` for an empty one.
  package static func read(_ bytes: [UInt8]) throws(YAMLError) -> YAMLNode? {
    guard bytes.count <= maximumBytes else {
      throw YAMLError(message: "the file is larger than \(ByteCount(maximumBytes))", mark: Mark(line: 1, column: 1))
    }
    let result: Result<YAMLNode?, YAMLError> = bytes.withUnsafeBufferPointer { buffer in
      var parser = yaml_parser_t()
      guard yaml_parser_initialize(&parser) == 1 else {
        return .failure(YAMLError(message: "there is not enough memory to read it", mark: Mark(line: 1, column: 1)))
      }
      defer { yaml_parser_delete(&parser) }
      yaml_parser_set_input_string(&parser, buffer.baseAddress, buffer.count)
      return withUnsafeMutablePointer(to: &parser) { parser in
        var builder = Builder(parser: parser, bytes: buffer)
        do throws(YAMLError) {
          return .success(try builder.document())
        } catch {
          return .failure(error)
        }
      }
    }
    return try result.get()
  }

  private struct Event {
    enum Kind {
      case scalar(String, isPlain: Bool), sequenceStart, sequenceEnd, mappingStart, mappingEnd, alias, documentStart,
        streamEnd, other
    }
    var kind: Kind
    var mark: Mark
  }

  private struct Builder {
    let parser: UnsafeMutablePointer<yaml_parser_t>
    let bytes: UnsafeBufferPointer<UInt8>
    var nodes = 0

    mutating func document() throws(YAMLError) -> YAMLNode? {
      var root: YAMLNode?
      while true {
        let event = try next()
        switch event.kind {
        case .streamEnd: return root
        case .documentStart:
          guard root == nil else { throw YAMLError(message: "there is more than one document", mark: event.mark) }
        case .scalar, .sequenceStart, .mappingStart, .alias: root = try node(event, depth: 0)
        case .sequenceEnd, .mappingEnd, .other: break
        }
      }
    }

    private mutating func node(_ event: Event, depth: Int) throws(YAMLError) -> YAMLNode {
      nodes += 1
      guard depth < maximumDepth, nodes < maximumNodes else {
        throw YAMLError(message: "it is nested too deeply or too large", mark: event.mark)
      }
      switch event.kind {
      case .scalar(let text, let isPlain): return .scalar(text, isPlain: isPlain, event.mark)
      case .sequenceStart:
        var items: [YAMLNode] = []
        while true {
          let next = try next()
          if case .sequenceEnd = next.kind { return .sequence(items, event.mark) }
          items.append(try node(next, depth: depth + 1))
        }
      case .mappingStart: return .mapping(try entries(depth: depth), event.mark)
      case .alias: throw YAMLError(message: "aliases (*name) are not supported; write the value out", mark: event.mark)
      default: throw YAMLError(message: "this is not a value", mark: event.mark)
      }
    }

    private mutating func entries(depth: Int) throws(YAMLError) -> [YAMLNode.Entry] {
      var entries: [YAMLNode.Entry] = []
      while true {
        let event = try next()
        if case .mappingEnd = event.kind { return entries }
        guard case .scalar(let key, _) = event.kind else {
          throw YAMLError(message: "a key must be a single word", mark: event.mark)
        }
        if let earlier = entries.first(where: { $0.key == key }) {
          throw YAMLError(message: "\"\(key)\" appears twice, first in line \(earlier.mark.line)", mark: event.mark)
        }
        entries.append(.init(key: key, mark: event.mark, value: try node(try next(), depth: depth + 1)))
      }
    }

    private func next() throws(YAMLError) -> Event {
      var event = yaml_event_t()
      guard yaml_parser_parse(parser, &event) == 1 else {
        let mark = parser.pointee.problem_mark
        throw YAMLError(message: problem, mark: Mark(line: mark.line + 1, column: mark.column + 1))
      }
      defer { yaml_event_delete(&event) }
      let mark = Mark(line: event.start_mark.line + 1, column: event.start_mark.column + 1)
      return Event(kind: Self.kind(of: event), mark: mark)
    }

    /// libyaml's reason why it cannot go on, with the place where the unfinished part begins.
    private var problem: String {
      let parser = parser.pointee
      if isIndentedWithTab(line: parser.problem_mark.line) { return "a tab cannot indent a line of YAML; use spaces" }
      let problem = parser.problem.map { String(cString: $0) } ?? "it is not YAML"
      guard let context = parser.context.map({ String(cString: $0) }) else { return problem }
      return "\(problem) (\(context) that begins in line \(parser.context_mark.line + 1))"
    }

    private func isIndentedWithTab(line: Int) -> Bool {
      let lines = bytes.split(separator: 0x0A, maxSplits: line + 1, omittingEmptySubsequences: false)
      guard lines.indices.contains(line) else { return false }
      return lines[line].prefix { $0 == 0x20 || $0 == 0x09 }.contains(0x09)
    }

    private static func kind(of event: yaml_event_t) -> Event.Kind {
      switch event.type {
      case YAML_SCALAR_EVENT:
        let scalar = event.data.scalar
        let text = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
        return .scalar(text, isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE)
      case YAML_SEQUENCE_START_EVENT: return .sequenceStart
      case YAML_SEQUENCE_END_EVENT: return .sequenceEnd
      case YAML_MAPPING_START_EVENT: return .mappingStart
      case YAML_MAPPING_END_EVENT: return .mappingEnd
      case YAML_ALIAS_EVENT: return .alias
      case YAML_DOCUMENT_START_EVENT: return .documentStart
      case YAML_STREAM_END_EVENT: return .streamEnd
      default: return .other
      }
    }
  }
}
