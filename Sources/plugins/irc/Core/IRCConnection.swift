internal import MessengerKit
internal import PluginSDK
internal import RelayConcurrency
internal import RelayHTTP
internal import RelayTransport

/// A connection to a server that has accepted the bot, until it ends.
actor IRCConnection {
  /// For the lines of one message; another ten seconds for the receipt, and the host waits for thirty.
  private static let patience: Duration = .seconds(15)
  /// After which a stranger may have logged in.
  private static let strangeness: Duration = .seconds(60)

  private let socket: LineConnection
  private(set) var session: IRCSession
  private let now = LoopClock.shared.reading
  private let pace: Pace
  private var lastWords = "the connection ended"
  private let receipts = SendReceipts()
  private let people = PendingAnswers<(source: String, account: String?)>()
  private let histories = PendingAnswers<[IRCLine]>()
  /// Of histories that are coming.
  private var batches: [String: String] = [:]
  /// An identity holds while the person is in a channel with the bot: the server tells when they leave.
  private var known: [String: (source: String, id: String, time: Duration)] = [:]

  private init(_ socket: LineConnection, _ settings: IRCSettings) {
    self.socket = socket
    session = IRCSession(settings)
    pace = Pace(burst: settings.burst ?? 5, interval: .seconds(settings.lineSeconds ?? 2))
  }

  /// Connects and registers.
  ///
  /// - Throws: `ConnectionEnding`.
  static func open(_ settings: IRCSettings) async throws -> IRCConnection {
    try await ConnectionEnding.connecting {
      let connection = IRCConnection(try await LineConnection.connect(settings.connection), settings)
      try await connection.register()
      return connection
    }
  }

  private func register() async throws {
    for line in session.greeting { socket.send(line) }
    while !session.isRegistered || session.refusal != nil { if await next() == nil { throw ending } }
  }

  /// Reads until the connection ends, and hands over one line after the other.
  ///
  /// - Throws: errors of `handle`, which end the connection.
  func run(_ handle: @escaping @Sendable (IRCLine) async throws -> Void) async throws -> ConnectionEnding {
    defer { socket.drop() }
    return try await Arrivals.run(read: { await self.read($0) }, handle: handle)
  }

  private func read(_ post: @Sendable (IRCLine) -> Void) async -> ConnectionEnding {
    while let line = await next() { post(line) }
    for end in [receipts.end, people.end, histories.end] { end() }
    return ending
  }

  func quit() {
    socket.send("QUIT :pi-relay")
    socket.drop()
  }

  private var ending: ConnectionEnding { .init(session.refusal ?? lastWords, isRefusal: session.refusal != nil) }

  /// The next line that is no answer to a question; nil at the end.
  private func next() async -> IRCLine? {
    while session.refusal == nil, let bytes = await socket.next() {
      guard let line = IRCLine(bytes) else { continue }
      for answer in session.take(line) { write(answer) }
      if !isAnswer(line) { return line }
    }
    return nil
  }

  private func isAnswer(_ line: IRCLine) -> Bool {
    let name = session.fold(line[1])
    if let target = line.tags["batch"].flatMap({ batches[$0] }) {
      histories.add(to: target) { $0.append(line) }
      return true
    }
    switch line.command {
    case "PONG": receipts.answered(line.text)
    case "311": people.add(to: name) { $0.source = "\(line[1])!\(line[2])@\(line[3])" }
    case "330": people.add(to: name) { $0.account = line[2] }
    case "318": people.finish(name)
    case "BATCH" where line[0].hasPrefix("+"): batches[String(line[0].dropFirst())] = session.fold(line[2])
    case "BATCH": if let target = batches.removeValue(forKey: String(line[0].dropFirst())) { histories.finish(target) }
    case "ERROR": lastWords = line.text
    case "NICK", "QUIT", "PART", "ACCOUNT": known[session.fold(line.nick)] = nil
    case "KICK": known[name] = nil
    case "401", "403", "404", "531":
      let words = "IRC: \(line[1]): \(line.text)"
      receipts.refused(in: name, line.command < "404" ? .notFound(words) : .forbidden(words))
    default: break
    }
    return ["PONG", "311", "330", "318", "BATCH"].contains(line.command)
  }

  // MARK: - Who somebody is

  /// The id of a line's author: a configured mask, or an account of the network's services; a nick alone is no id.
  ///
  /// - Parameter isPast: the line comes from the server's history, which does not show the present bearer of the nick.
  func author(of line: IRCLine, isPast: Bool) async -> String {
    let (nick, stranger) = (session.fold(line.nick), "unknown:\(line.source)")
    if let id = id(of: line.source, line.tags["account"]) { return id }
    if isPast || session.capabilities.contains("account-tag") { return stranger }
    if let known = known[nick], known.source == line.source,
      known.id == stranger ? now() - known.time < Self.strangeness : !session.isMe(line[0])
    {
      return known.id
    }
    // The nick may be somebody else's by now.
    let person = await person(line.nick)
    let found = person.flatMap { $0.source == line.source ? id(of: $0.source, $0.account) : nil } ?? stranger
    if found == stranger || !session.isMe(line[0]) { known[nick] = (line.source, found, now()) }
    return found
  }

  /// Reports whether the person who bears a nick just now has this id.
  func bears(_ nick: String, _ wanted: String) async -> Bool {
    await person(nick).map { id(of: $0.source, $0.account) == wanted } ?? false
  }

  private func id(of source: String, _ account: String?) -> String? {
    if let mask = session.settings.masks?.first(where: { IRCText.matches(source, mask: $0) }) { return mask }
    return account.flatMap { $0.isEmpty || $0.contains { "!@:*".contains($0) } ? nil : $0 }
  }

  private func person(_ nick: String) async -> (source: String, account: String?)? {
    await pace.waitForRoom()
    let person = await people.answer(to: session.fold(nick), beginning: ("", nil)) { write("WHOIS \(nick)") }
    return person?.source.isEmpty == false ? person : nil
  }

  // MARK: - What is said

  /// The first hundred lines to a target after a time; none where the server does not say.
  func history(_ target: String, after time: String) async -> [IRCLine] {
    await pace.waitForRoom()
    let ask = "CHATHISTORY AFTER \(target) timestamp=\(time) 100"
    return await histories.answer(to: session.fold(target), beginning: []) { write(ask) } ?? []
  }

  /// Says something that nobody needs, unless there is something else to say.
  func offer(_ line: String) { if pace.isIdle { write(line) } }

  /// At once: it counts against the flow of lines, but does not wait for it.
  private func write(_ line: String) {
    pace.take()
    socket.send(line)
  }

  /// Sends lines as messages, as many as may go out soon, and waits until the server says that it has them: the answer to a PING
  /// behind them comes after all that it has to say of them.
  ///
  /// - Parameter word: a name of its own for this.
  /// - Returns: how many were sent.
  /// - Throws: `DeliveryFailure`.
  func say(_ lines: [String], to target: String, as word: String) async throws -> Int {
    try await receipts.confirm(word, in: session.fold(target), at: "IRC") {
      await pace.send(lines, within: Self.patience) { socket.send("PRIVMSG \(target) :\($0)") }
    } ask: {
      write("PING :\(word)")
    }
  }
}
