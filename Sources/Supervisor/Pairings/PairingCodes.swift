/// The codes of the pairings that wait for a person, and their throttle. A pure value: times are given, and codes are kept as their
/// digests.
package struct PairingCodes: Sendable {
  package struct Limits: Sendable, Equatable {
    /// Wrong codes of one person within `window`.
    package var perPerson = 5
    /// Wrong codes of all people within `window`.
    package var overall = 20
    package var window: Duration = .seconds(60)
    /// Wrong codes while a code is open, after which it is void.
    package var whileOpen = 10
    /// How long the end of a code is remembered, to be told to whoever sends the code.
    package var remembered: Duration = .seconds(600)
    /// Codes that are open at once.
    package var open = 20

    package init() {}
  }

  /// A pairing that waits for a person.
  package struct Request: Sendable, Equatable {
    package let id: String
    /// The messenger's instance in which the code counts.
    package let instance: String
    package let session: String?
    package let label: String?

    package init(id: String, instance: String, session: String?, label: String?) {
      self.id = id
      self.instance = instance
      self.session = session
      self.label = label
    }
  }

  /// The answer to a code.
  package enum Outcome: Sendable, Equatable {
    /// It counts, and is reserved for this person until `consume` or `release`.
    case active(Request)
    case missing
    case wrongMessenger
    case consumed
    /// Its time is over; or it was replaced, taken back, or tried too often.
    case expired
    /// Another person has sent it, and waits for the confirmation.
    case reserved
    /// Too many wrong codes: this one was not looked at. `isFirst`: the first of them.
    case throttled(isFirst: Bool)
  }

  /// Why a code counts no more.
  package enum End: Sendable, Equatable {
    case consumed
    case timeIsOver
    case replaced
    case takenBack
    case denied
    case triedTooOften
  }

  private enum State: Equatable {
    case open
    case reserved(by: String)
    case ended(End, at: Duration)
  }

  private struct Entry {
    let request: Request
    let digests: [[UInt8]]
    let expires: Duration
    var wrongCodes = 0
    var state = State.open

    var isOpen: Bool { if case .ended = state { false } else { true } }
  }

  private let limits: Limits
  private var entries: [Entry] = []
  /// The times of wrong codes, by person.
  private var wrong: [String: [Duration]] = [:]
  private var told: Set<String> = []

  package init(limits: Limits = Limits()) { self.limits = limits }

  // MARK: - The terminal

  /// Opens a code. An open one of the same session and messenger ends.
  ///
  /// - Returns: the pairing that this one replaces; `nil` where there is none. With `isFull`: nothing was opened.
  package mutating func open(
    _ request: Request, _ code: PairingCode, until expires: Duration, now: Duration
  ) -> (replaced: String?, isFull: Bool) {
    expire(now: now)
    let same = entries.first { entry in
      entry.isOpen && entry.request.session == request.session && entry.request.instance == request.instance
    }
    if let same { end(same.request.id, .replaced, now: now) }
    guard entries.count(where: \.isOpen) < limits.open else { return (same?.request.id, true) }
    entries.append(Entry(request: request, digests: code.digests, expires: expires))
    return (same?.request.id, false)
  }

  /// True for digits or a token that an open code has already.
  package func isTaken(_ code: PairingCode) -> Bool {
    entries.contains { entry in entry.isOpen && entry.digests.contains { code.digests.contains($0) } }
  }

  /// Ends the codes whose time is over, unless a confirmation is awaited.
  ///
  /// - Returns: the ids of their pairings.
  @discardableResult
  package mutating func expire(now: Duration) -> [String] {
    var ended: [String] = []
    for index in entries.indices where entries[index].state == .open && entries[index].expires <= now {
      entries[index].state = .ended(.timeIsOver, at: now)
      ended.append(entries[index].request.id)
    }
    let remembered = limits.remembered
    entries.removeAll { if case .ended(_, let at) = $0.state { now - at >= remembered } else { false } }
    return ended
  }

  /// Ends a code, whoever has it reserved.
  package mutating func end(_ id: String, _ end: End, now: Duration) {
    guard let index = index(id), entries[index].isOpen else { return }
    entries[index].state = .ended(end, at: now)
  }

  /// The confirmation was not given: the code may be sent again while its time lasts.
  package mutating func release(_ id: String) {
    guard let index = index(id), case .reserved = entries[index].state else { return }
    entries[index].state = .open
  }

  /// True while the code is reserved for this person.
  package func isReserved(_ id: String, for person: String) -> Bool {
    index(id).map { entries[$0].state == .reserved(by: person) } ?? false
  }

  package func isOpen(_ id: String) -> Bool { index(id).map { entries[$0].isOpen } ?? false }

  // MARK: - People

  /// Reports whether the words are a code that is open: they may also be a message.
  package func knows(_ code: String) -> Bool { entry(code).map { entries[$0].isOpen } ?? false }

  /// A person has sent a code in a private conversation.
  ///
  /// - Parameters:
  ///   - person: unique over all messengers.
  ///   - tried: gets the pairings whose codes are void by this one.
  package mutating func present(
    _ code: String, in instance: String, by person: String, now: Duration, tried: inout [String]
  ) -> Outcome {
    expire(now: now)
    wrong = wrong.compactMapValues { times in
      let recent = times.filter { now - $0 < limits.window }
      return recent.isEmpty ? nil : recent
    }
    told.formIntersection(wrong.keys)
    let (own, all) = (wrong[person]?.count ?? 0, wrong.values.reduce(0) { $0 + $1.count })
    guard own < limits.perPerson, all < limits.overall else {
      return .throttled(isFirst: own > 0 && told.insert(person).inserted)
    }
    guard let index = entry(code) else {
      wrong[person, default: []].append(now)
      for index in entries.indices where entries[index].isOpen {
        entries[index].wrongCodes += 1
        guard entries[index].wrongCodes >= limits.whileOpen else { continue }
        entries[index].state = .ended(.triedTooOften, at: now)
        tried.append(entries[index].request.id)
      }
      return .missing
    }
    guard entries[index].request.instance == instance else {
      wrong[person, default: []].append(now)
      return .wrongMessenger
    }
    switch entries[index].state {
    case .open:
      entries[index].state = .reserved(by: person)
      return .active(entries[index].request)
    case .reserved: return .reserved
    case .ended(let end, _):
      wrong[person, default: []].append(now)
      return end == .consumed ? .consumed : .expired
    }
  }

  /// Looks at every code, so that the time tells nothing of any.
  private func entry(_ code: String) -> Int? {
    let digest = PairingCode.digest(of: code)
    var found: Int?
    for (index, entry) in entries.enumerated() {
      for known in entry.digests where isEqualInConstantTime(known, digest) {
        // Digits may come again after a code has ended: the open one counts.
        if found == nil || entry.isOpen { found = index }
      }
    }
    return found
  }

  private func index(_ id: String) -> Int? { entries.firstIndex { $0.request.id == id } }
}
