package import RelayModel

extension MessageStage {
  /// How it is written down. Never renumbered.
  var code: Int {
    switch self {
    case .received: 0
    case .handling: 1
    case .dispatching: 2
    case .accepted: 3
    case .settled: 10
    case .interrupted: 11
    case .dropped: 12
    }
  }

  /// The stored end of the transcript before it.
  var entryBefore: String? { if case .dispatching(_, let position) = self { position.entry } else { nil } }

  package init(code: Int, session: String?, entryBefore: String?) throws {
    switch code {
    case 0: self = .received
    case 1: self = .handling
    case 2: self = .dispatching(session: session ?? "", after: TranscriptPosition(entry: entryBefore))
    case 3: self = .accepted(session: session ?? "")
    case 10: self = .settled
    case 11: self = .interrupted
    case 12: self = .dropped
    default: throw StoreError("a message is in stage \(code), which this version does not know")
    }
  }
}

extension TranscriptPosition {
  /// How it is written down: nothing where it is unknown, an empty text for an empty transcript.
  var entry: String? {
    switch self {
    case .unknown: nil
    case .empty: ""
    case .after(let entry): entry
    }
  }

  init(entry: String?) {
    guard let entry else {
      self = .unknown
      return
    }
    self = entry.isEmpty ? .empty : .after(entry)
  }
}

extension StageChange {
  /// The stage that it stores, for a message of this session.
  func stage(in session: String) -> MessageStage {
    switch stage {
    case .received: .received
    case .handling: .handling
    case .dispatching(let position): .dispatching(session: session, after: position)
    case .accepted: .accepted(session: session)
    }
  }
}
