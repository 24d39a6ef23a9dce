internal import FoundationEssentials
internal import PiRPC
internal import RelayConfig
internal import RelayPipes
internal import RelayStore
internal import RelayWire

/// Everything that goes to one conversation, one thing after another: the answer as it streams, tools, notices and
/// questions.
actor ConversationOutput {
  enum Item: Sendable {
    case event(SessionEvent)
    case say(String, MessageRole, buttons: [[Button]]?)
    case ask(DialogRecord)
    case settleDialog(id: String, text: String)
    case settled(message: String, MessageSettled.Outcome)
    case detached
    case flush(Int)
    case toolIsSlow(String)
    /// More waited than is kept for a messenger that is away.
    case leftOut(tools: Int, messages: Int)
  }

  struct Settings: Sendable, Equatable {
    var output = Config.Output.stream
    var images = Config.Images.explicit
    var editInterval: Duration?

    init() {}

    init(_ messenger: Config.Messenger) {
      output = messenger.output
      images = messenger.images
      editInterval = messenger.editInterval
    }
  }

  nonisolated let key: ConversationKey
  private nonisolated let items: Mailbox<Item>
  private let delivery: Delivery
  private var settings: Settings
  private let services: Services
  private let nursery: Nursery
  private let timekeeper: Timekeeper

  /// What the messenger can do: of its present life, or of the last while it is away.
  private var capabilities: Capabilities
  private var link: PluginLink?
  private var stream = StreamedText()
  /// Counts the agent's messages.
  private var streamNumber = 0
  private var preview: String?
  private var flushNumber = 0
  private var flushScheduled = false
  private var lastFlush: Duration = .zero
  private var notBefore: Duration = .zero
  private var running: [String: FormatTool.Call] = [:]
  private var finished: [FormatTool.Call] = []
  private var progress: [String: String] = [:]
  private var dialogs: [String: String] = [:]
  /// Some of the run's answer could not be shown.
  private var isIncomplete = false

  static let usualEditInterval: Duration = .milliseconds(800)
  static let usualLimit = 4_000
  /// A tool that runs longer is mentioned while it runs.
  static let slowTool: Duration = .milliseconds(500)

  init(
    delivery: Delivery, capabilities: Capabilities, settings: Settings, services: Services, nursery: Nursery
  ) {
    self.capabilities = capabilities
    key = delivery.conversation
    self.delivery = delivery
    self.settings = settings
    self.services = services
    self.nursery = nursery
    timekeeper = delivery.timekeeper
    items = Mailbox(limit: OutputBacklog.limit, compact: OutputBacklog.compact) { last, new in
      guard case .event(.text(let more)) = new, case .event(.text(let text)) = last else { return false }
      last = .event(.text(text + more))
      return true
    }
  }

  /// Queues something; never waits.
  nonisolated func post(_ item: Item) { items.post(item) }

  nonisolated func close() { items.close() }

  func run() async {
    while let item = await items.next() { await handle(item) }
  }

  private func handle(_ item: Item) async {
    meetMessenger()
    switch item {
    case .event(let event): await handle(event)
    case .say(let text, let role, let buttons):
      await breakStream()
      await say(text, role, buttons: buttons)
    case .ask(let record): await ask(record)
    case .settleDialog(let id, let text):
      if let message = dialogs.removeValue(forKey: id) { await delivery.closeDialog(id, message: message, text: text) }
    case .settled(let message, let outcome): await delivery.settled(message, outcome)
    case .detached: await detach()
    case .flush(let number):
      if number == flushNumber { await flushNow() }
    case .toolIsSlow(let id): await showProgress(of: id)
    case .leftOut(let tools, let messages):
      await breakStream()
      await say(
        "… Not shown, because this messenger was away for long: \(messages) messages and \(tools) tool calls. "
          + "The session has them all.", .notice)
    }
  }

  private func handle(_ event: SessionEvent) async {
    switch event {
    case .runStarted(let origin, let text):
      // What was typed elsewhere is shown here; what was typed here is known by its id.
      if let origin, origin.conversation != key { await say("▶ \(text)", .echo) }
      await delivery.typing(true)
    case .text(let text):
      guard settings.output != .final else { return }
      await flushTools()
      stream.append(text)
      if capabilities.edit == true { await showSoon() }
    case .messageEnded(let message): await end(message)
    case .toolStarted(let id, let name, let arguments):
      running[id] = FormatTool.Call(name: name, arguments: arguments)
      nursery.add { [self, timekeeper] in
        if await timekeeper.sleep(for: Self.slowTool) { post(.toolIsSlow(id)) }
      }
    case .toolEnded(let id, let name, let failed, let images):
      await endTool(id, name, failed: failed, images)
    case .notice(let text):
      await breakStream()
      await say(text, .notice)
    case .dialogOpened, .dialogWithdrawn: break
    case .runEnded(let message, let end):
      await endRun(end)
      let outcome = isIncomplete && end == .completed ? .failed : Self.outcome(of: end)
      isIncomplete = false
      if let message, message.conversation == key { await delivery.settled(message.id, outcome) }
    }
  }

  // MARK: - The answer

  /// Looks whether another life of the messenger has begun.
  private func meetMessenger() {
    guard let present = delivery.holder.current, present !== link else { return }
    link = present
    capabilities = present.capabilities
    if let messenger = present.messenger { settings = Settings(messenger) }
  }

  private var limit: Int {
    let most = capabilities.maximumTextLength ?? Self.usualLimit
    return max(50, most - most / 20)
  }

  private var editInterval: Duration {
    let shortest = capabilities.minimumEditInterval.map { Duration.milliseconds($0) }
    return settings.editInterval ?? shortest ?? Self.usualEditInterval
  }

  private func render(_ text: String, final: Bool) async -> [FormatRender.Piece] {
    let unit = capabilities.lengthUnit ?? .utf16
    // Text that needs nothing done to it need not be sent anywhere.
    if capabilities.dialect == "markdown", unit.isWithin(limit, text) {
      return text.isEmpty ? [] : [FormatRender.Piece(text: text, consumed: text.utf8.count)]
    }
    return await services.render(
      FormatRender(
        text: text, dialect: capabilities.dialect ?? "plain", limit: limit, unit: unit, final: final),
      of: "\(key)#\(streamNumber)")
  }

  /// Shows what has arrived, now or as soon as the platform likes another change.
  private func showSoon() async {
    guard !flushScheduled else { return }
    let wait = max(lastFlush + editInterval, notBefore) - timekeeper.now()
    if wait > .zero { scheduleFlush(in: wait) } else { await flushNow() }
  }

  private func scheduleFlush(in wait: Duration) {
    flushScheduled = true
    flushNumber += 1
    let number = flushNumber
    nursery.add { [self, timekeeper] in
      if await timekeeper.sleep(for: wait) { post(.flush(number)) }
    }
  }

  private func flushNow() async {
    flushScheduled = false
    guard stream.isDirty, !stream.isStuck else { return }
    lastFlush = timekeeper.now()
    if settings.output == .preview { await showPreview() } else { await flush(final: false) }
  }

  private func flush(final: Bool) async {
    stream.clean()
    let pieces = await render(stream.source, final: final)
    var consumed = 0
    for (index, piece) in pieces.enumerated() {
      let isLast = index == pieces.count - 1
      if isLast, !final {
        await show(piece.text, streaming: true)
        return
      }
      await show(piece.text, streaming: false)
      stream.fix(piece, after: consumed)
      if !final, index == pieces.count - 2 { stream.reopen(with: piece.reopen) }
      consumed = piece.consumed
    }
  }

  /// Makes the growing message show this text; begins one if there is none.
  private func show(_ text: String, streaming: Bool) async {
    guard let message = stream.message else {
      await begin(text, streaming: streaming)
      return
    }
    if text == stream.shown, streaming { return }
    var deaths = 0
    for _ in 0..<Delivery.maximumAttempts {
      switch await delivery.edit(message, stream.mark + text, streaming: streaming) {
      case .done:
        stream.shown = text
        return
      case .wait(let delay):
        notBefore = timekeeper.now() + delay
        if streaming {
          stream.append("")
          scheduleFlush(in: delay)
          return
        }
        guard await timekeeper.sleep(for: delay) else { return }
      case .gone:
        await begin(text, streaming: streaming)
        return
      case .failed:
        return await giveUpEditing(text, streaming: streaming)
      case .lost:
        deaths += 1
        guard deaths < Delivery.maximumDeaths else {
          delivery.log("\(key): a change of a message ended its messenger \(deaths) times and was set aside")
          isIncomplete = true
          return
        }
      }
    }
    await giveUpEditing(text, streaming: streaming)
  }

  /// The platform does not let the message grow any more: while it would, nothing further is tried; the whole text
  /// comes as a message of its own.
  private func giveUpEditing(_ text: String, streaming: Bool) async {
    if streaming {
      stream.isStuck = true
    } else if text != stream.shown {
      await begin(text, streaming: false)
    }
  }

  private func begin(_ text: String, streaming: Bool) async {
    let sent = await delivery.send(text, role: .answer, streaming: streaming)
    if sent == nil { isIncomplete = true }
    stream.message = sent?.message
    stream.mark = sent?.mayBeRepeat == true ? Delivery.repeatMark : ""
    stream.shown = text
  }

  private func showPreview() async {
    let text = stream.source
    stream.clean()
    let unit = capabilities.lengthUnit ?? .utf16
    let shown = unit.isWithin(limit, text) ? text : "[streaming, \(text.count) characters]\n…" + text.suffix(limit / 4)
    await show(shown, streaming: true)
  }

  private func beginStream() {
    stream = StreamedText()
    streamNumber += 1
  }

  private func end(_ message: PiMessage) async {
    flushScheduled = false
    flushNumber += 1
    stream.complete(with: message.text)
    if !stream.isEmpty {
      await flushTools()
      await flush(final: true)
    }
    beginStream()
  }

  /// Shows what has been streamed so far before something else is said. The message goes on growing above it; where
  /// messages cannot grow, it is sent when it is complete.
  private func breakStream() async {
    guard stream.isDirty, capabilities.edit == true, settings.output == .stream else { return }
    flushScheduled = false
    flushNumber += 1
    await flush(final: false)
  }

  /// The conversation turns to another session: what was under way here is brought to an end.
  private func detach() async {
    if !stream.isEmpty { await flush(final: true) }
    beginStream()
    running = [:]
    finished = []
    for message in progress.values { await delivery.delete(message) }
    progress = [:]
    for (id, message) in dialogs {
      await delivery.closeDialog(id, message: message, text: "(moved to another session)")
    }
    dialogs = [:]
    await delivery.typing(false)
  }

  private func endRun(_ end: RunEnd) async {
    if !stream.isEmpty {
      await flush(final: true)
      beginStream()
    }
    await flushTools()
    for message in progress.values { await delivery.delete(message) }
    progress = [:]
    running = [:]
    await delivery.typing(false)
    switch end {
    case .completed: break
    case .handled: await say("✓ Done by the agent itself, without an answer.", .notice)
    case .aborted: await say("⏹ Stopped.", .notice)
    case .failed(let why): await say("❌ \(why)", .notice)
    }
  }

  private static func outcome(of end: RunEnd) -> MessageSettled.Outcome {
    switch end {
    case .completed: .answered
    case .aborted: .stopped
    case .failed: .failed
    case .handled: .handled
    }
  }

  // MARK: - Tools

  private func endTool(_ id: String, _ name: String, failed: Bool, _ images: [PiImage]) async {
    var call = running.removeValue(forKey: id) ?? FormatTool.Call(name: name, arguments: .null)
    call.failed = failed ? true : nil
    finished.append(call)
    if let message = progress.removeValue(forKey: id) { await delivery.delete(message) }
    if settings.images == .automatic { for image in images { await send(image, from: name) } }
  }

  private func showProgress(of id: String) async {
    guard let call = running[id], settings.output != .final else { return }
    await breakStream()
    progress[id] = await delivery.send("⏳ Running \(SafeText.line(call.name))…", role: .tools)?.message
  }

  private func flushTools() async {
    guard !finished.isEmpty else { return }
    let calls = finished
    finished = []
    guard settings.output != .final else { return }
    let dialect = capabilities.dialect ?? "plain"
    let lines = await services.toolLines(FormatTool(calls: calls, dialect: dialect))
    await say(lines.joined(separator: "\n"), .tools)
  }

  private func send(_ image: PiImage, from tool: String) async {
    guard let link = delivery.holder.current, let most = link.capabilities.maximumFileBytes else { return }
    let ending = image.mimeType.split(separator: "/").last.map(String.init) ?? "bin"
    let name = SafeText.line(tool) + "." + SafeText.line(ending, limit: 8)
    let path = "\(link.spoolFolder)/\(UUID().uuidString)"
    do {
      // Away from the loop, which carries everybody's text.
      let isWritten = try await withTaskExecutorPreference(globalConcurrentExecutor) {
        guard let data = Data(base64Encoded: image.data), data.count <= most else { return false }
        try data.write(to: URL(filePath: path))
        return true
      }
      guard isWritten else { return }
    } catch {
      delivery.log("\(key): an image of \(tool) could not be handed over: \(error)")
      return
    }
    _ = await delivery.send(file: path, name: name, mime: image.mimeType, caption: nil)
    // Sent or given up; what cannot be removed stays in a folder of the instance's own.
    try? FileManager.default.removeItem(atPath: path)
  }

  // MARK: - Notices and questions

  private func say(_ text: String, _ role: MessageRole, buttons: [[Button]]? = nil) async {
    let unit = capabilities.lengthUnit ?? .utf16
    let pieces = PlainText.split(text, limit: limit, unit: unit)
    for (index, piece) in pieces.enumerated() {
      _ = await delivery.send(piece.text, role: role, buttons: index == pieces.count - 1 ? buttons : nil)
    }
  }

  private func ask(_ record: DialogRecord) async {
    await breakStream()
    await flushTools()
    dialogs[record.id] = await delivery.show(
      DialogShow(
        key: UUID().uuidString, conversation: key.conversation, dialog: record.id, kind: record.kind,
        text: record.question, buttons: record.buttons(within: capabilities.buttons), prefill: record.dialog.prefill,
        expires: record.expires))?.message
  }
}
