internal import FoundationEssentials
package import Logging
internal import MessageDelivery
package import PluginRuntime
internal import RelayConcurrency
package import RelayHome
internal import RelayLogging
internal import RelayText
internal import RelayTransport
package import RelayWire

/// The services that plugins offer, and their replacements while a service is away. Requests are stateless, so that a
/// restarted service continues where its predecessor stopped. A missing service never drops a message.
package actor Services {
  /// The connection of each service that was asked for so far.
  private var holders: [String: ConnectionSlot] = [:]
  private let home: HomeDirectory
  private let clock: any Clock<Duration>
  private let logger: Logger
  /// Crashes of a service, by the content of the request: a second crash sets the content aside.
  private var crashes: [String: Int] = [:]
  private var complained: Set<String> = []
  /// Those whose plugin was ended because nobody needed it.
  private var sleepers: [String: Sleeper] = [:]
  /// The plugins that have been started on demand and are not connected yet.
  private var waking: Set<String> = []
  /// How many are about to ask something of each, or wait for its answer.
  private var users: [String: Int] = [:]

  private struct Sleeper {
    let link: PluginConnection
    let wake: @Sendable () -> Void
  }

  /// A render may take a second; then plain splitting is better than waiting.
  static let renderLimit: Duration = .seconds(1)
  /// Downloads have limits of their own inside the service.
  static let prepareLimit: Duration = .seconds(60)

  static let returnLimit: Duration = .seconds(2)
  /// For files, which cannot be asked for again: the plugin may take as long for its handshake.
  static let wakeLimit: Duration = .seconds(10)

  package init(home: HomeDirectory, clock: any Clock<Duration>, logger: Logger) {
    self.home = home
    self.clock = clock
    self.logger = logger
  }

  package func connected(_ link: PluginConnection) {
    for service in link.capabilities.services ?? [] {
      holder(service).set(link)
      if sleepers[service]?.link.name == link.name { sleepers[service] = nil }
      waking.remove(service)
    }
    complained.subtract(link.capabilities.services ?? [])
  }

  package func disconnected(_ link: PluginConnection) {
    for holder in holders.values { holder.clear(link) }
    sleepers = sleepers.filter { $0.value.link !== link }
  }

  package func mayEnd(_ link: PluginConnection, wake: @escaping @Sendable () -> Void) -> Bool {
    let services = link.capabilities.services ?? []
    guard !link.awaitsAnswers, services.allSatisfy({ users[$0, default: 0] == 0 }) else { return false }
    for holder in holders.values { holder.clear(link) }
    for service in services { sleepers[service] = Sleeper(link: link, wake: wake) }
    return true
  }

  /// Until the answer is there the plugin is not ended.
  private func begin(_ service: String) { users[service, default: 0] += 1 }
  private func finish(_ service: String) { users[service, default: 1] -= 1 }

  private func holder(_ service: String) -> ConnectionSlot {
    if let holder = holders[service] { return holder }
    let holder = ConnectionSlot()
    holders[service] = holder
    return holder
  }

  /// The plugin that does this, woken if it sleeps; nil where none does at present.
  private func link(for service: String) async -> PluginConnection? {
    if let link = holder(service).current { return link }
    wake(service)
    return waking.contains(service) ? await waitForLink(service) : nil
  }

  private func wake(_ service: String) {
    guard let sleeper = sleepers[service] else { return }
    let services = sleeper.link.capabilities.services ?? []
    for service in services { sleepers[service] = nil }
    waking.formUnion(services)
    sleeper.wake()
  }

  /// Says once, until the service is back, that something is done without it.
  private func complain(_ service: String, _ why: String) {
    guard complained.insert(service).inserted else { return }
    logger.warning("\(service): \(why); continuing without it until it returns")
  }

  // MARK: - Formatting

  /// - Parameter message: identifies the text. A growing text is rendered again and again; after two crashes of the
  ///   formatter over it, it is split plainly.
  package func render(_ request: FormatRender, of message: String) async -> [FormatRender.Piece] {
    begin(FormatRender.method)
    defer { finish(FormatRender.method) }
    let text = request.text
    let identity = "render:\(message)"
    if crashes[identity, default: 0] < 2, let link = await link(for: FormatRender.method) {
      do {
        let pieces = try await link.request(request, within: Self.renderLimit).pieces
        if Self.isSound(pieces, of: request) { return pieces }
        logger.with("instance", link.name)
          .warning("it rendered pieces over the limit or out of order, so the text is split plainly")
      } catch {
        noteCrash(identity, error)
        complain(FormatRender.method, "\(error)")
      }
    } else {
      complain(FormatRender.method, "no formatter is running")
    }
    return PlainText.split(text, limit: request.limit, unit: request.unit)
  }

  /// Right after a start it may not be there yet; without it text is split plainly.
  package func waitForFormatter() async { _ = await waitForLink(FormatRender.method) }

  /// A service is believed only within the limits it was given.
  private static func isSound(_ pieces: [FormatRender.Piece], of request: FormatRender) -> Bool {
    var before = 0
    for piece in pieces {
      guard piece.consumed >= before, piece.consumed <= request.text.utf8.count,
        request.unit.count(piece.text) <= request.limit
      else { return false }
      before = piece.consumed
    }
    return true
  }

  package func toolLines(_ request: FormatTool) async -> [String] {
    begin(FormatTool.method)
    defer { finish(FormatTool.method) }
    // Without the formatter, or when it fails, the tools' names alone are shown.
    if let link = await link(for: FormatTool.method),
      let reply = try? await link.request(request, within: Self.renderLimit)
    {
      return reply.lines
    }
    return request.calls.map { "🔧 \($0.name)" + ($0.failed == true ? " ✗" : "") }
  }

  private func noteCrash(_ identity: String, _ error: ConnectionError) {
    switch error {
    case .closed, .timedOut: break
    case .refused, .notSent, .unreadable: return
    }
    if crashes.count > 1_000 { crashes = [:] }
    crashes[identity, default: 0] += 1
  }

  // MARK: - Attachments

  /// Turns files into what a model takes.
  ///
  /// - Parameters:
  ///   - message: the message that they belong to. Files that end the service twice are not given to it a third time.
  ///   - spoolFolder: the folder that their paths must be beneath.
  ///   - proxy: the proxy for downloads, if the messenger uses one.
  ///   - hosts: the hosts that the messenger's files come from.
  package func prepare(
    _ attachments: [Attachment], of message: String, spoolFolder: String, proxy: String?, hosts: [String]?
  ) async throws(ContentError) -> PreparedAttachments {
    begin(AttachmentsPrepare.method)
    defer { finish(AttachmentsPrepare.method) }
    let identity = "prepare:\(message)"
    for _ in 0..<2 {
      guard crashes[identity, default: 0] < 2 else { throw .unanswered }
      guard let link = await waitForLink(AttachmentsPrepare.method, wakingFor: Self.wakeLimit) else { break }
      let output = "\(link.spoolFolder)/\(UUID().uuidString)"
      do {
        try home.makePrivate(output)
        defer { try? FileManager.default.removeItem(atPath: output) }
        let reply = try await link.request(
          AttachmentsPrepare(
            attachments: attachments.map(Self.named), spoolDir: spoolFolder, outputDir: output, proxy: proxy,
            hosts: hosts),
          within: Self.prepareLimit)
        return try PreparedAttachments(reply, beneath: output)
      } catch let error as ConnectionError {
        noteCrash(identity, error)
        complain(AttachmentsPrepare.method, "\(error)")
      } catch let error as ContentError {
        complain(AttachmentsPrepare.method, error.description)
        throw error
      } catch {
        complain(AttachmentsPrepare.method, "\(error)")
        break
      }
    }
    throw .unavailable
  }

  /// A service that has just died is back within a moment: worth waiting for, since files cannot be asked for again.
  ///
  /// - Parameter limit: for one that sleeps.
  private func waitForLink(_ service: String, wakingFor limit: Duration = Services.returnLimit) async
    -> PluginConnection?
  {
    let holder = holder(service)
    if let link = holder.current { return link }
    wake(service)
    let limit = waking.contains(service) ? limit : Self.returnLimit
    let found = try? await withDeadline(limit, clock: clock) { await holder.wait() }
    // It did not come: the next does not wait for it.
    if found == nil { waking.remove(service) }
    return found ?? nil
  }

  /// Replaces names by names that are safe in the agent's prompt.
  private static func named(_ attachment: Attachment) -> Attachment {
    var attachment = attachment
    attachment.name = TextSanitizer.fileName(attachment.name)
    attachment.mime = attachment.mime.map(TextSanitizer.fileName)
    return attachment
  }
}
