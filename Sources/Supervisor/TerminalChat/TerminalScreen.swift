import CEdit
import Formatter
import Glibc
import RelayConcurrency
import RelayTransport
import RelayWire

/// A terminal with the edited line at the bottom and everything else above it, updated in place while it streams.
///
/// The terminal is drawn on the event loop's thread only; calls from other threads are passed to it first.
final class TerminalScreen: ChatScreen {
  private struct State {
    var isBegun = false
    var working = false
    var isConnected = true
    /// The message that is still growing at the end of what is printed.
    var open: (id: String, shown: Shown)?
    /// Messages that still grow after something else was printed below them: their further text is printed below that.
    var interrupted: [String: Shown] = [:]
    /// Messages that ask something: how it ended is printed below.
    var questions: Set<String> = []
  }

  /// The lines of a growing message.
  private struct Shown {
    var lines: [TerminalLine]
    /// The first that is at the end of what is printed; nil: something else is printed below all of them.
    var first: Int? = 0
  }

  private let loop = EventLoop.shared
  private let text: ChatText
  private let history: String
  private let state = Locked(State())
  private let token = Locked<EventLoop.Token?>(nil)
  /// The one screen of this process: libedit's callback carries no context.
  private static let lines = Locked<(@Sendable (String?) -> Void)?>(nil)

  init(history: String, environment: [String: String]) {
    self.history = history
    text = ChatText(environment: environment)
  }

  var dialect: String { text.dialect }

  /// Begins to edit; `entered` gets each line, nil at end of input.
  func begin(_ entered: @escaping @Sendable (String?) -> Void) throws {
    Self.lines.withLock { $0 = entered }
    loop.perform { [self] in
      relay_edit_load_history(history)
      relay_edit_begin(prompt) { text in
        let entered = TerminalScreen.lines.withLock { $0 }
        entered?(text.map { String(cString: $0) })
      }
      state.withLock { $0.isBegun = true }
    }
    let watch = try loop.watch(0, .read) { _ in relay_edit_read() }
    token.withLock { $0 = watch }
  }

  /// Gives the terminal back. Returns when that is done.
  func end() async {
    await withCheckedContinuation { continuation in
      loop.perform { [self] in
        relay_edit_hide()
        relay_edit_save_history(history)
        relay_edit_end()
        state.withLock { $0.isBegun = false }
        continuation.resume()
      }
    }
  }

  func complete(with words: [String]) {
    loop.perform {
      let copies = words.map { strdup($0) }
      defer { for copy in copies { free(copy) } }
      var pointers = copies.map { UnsafePointer<CChar>($0) }
      relay_edit_set_completions(&pointers, Int32(pointers.count))
    }
  }

  var isWorking: Bool { state.withLock { $0.working } }

  /// A line of the chat's own.
  func say(_ text: String) {
    draw { self.printBlock(text, .notice) }
  }

  // MARK: - ChatScreen

  func show(_ message: MessageSend, id: String) {
    draw {
      self.closeOpen()
      guard message.streaming == true else {
        if message.role == .dialog { self.state.withLock { _ = $0.questions.insert(id) } }
        self.print(self.text.lines(of: message.text, message.role))
        return
      }
      self.state.withLock { $0.open = (id, Shown(lines: [])) }
      self.redraw(message.text, message.role)
    }
  }

  func change(_ message: MessageEdit) {
    draw {
      let isOpen = self.state.withLock { state in
        if state.open?.id == message.message { return true }
        guard let shown = state.interrupted.removeValue(forKey: message.message) else { return false }
        if let open = state.open { state.interrupted[open.id] = Shown(lines: open.shown.lines, first: nil) }
        state.open = (message.message, shown)
        return true
      }
      guard isOpen else {
        // Only growing messages can be changed in place; the outcome of a question is printed as a new line.
        let isQuestion = self.state.withLock { $0.questions.remove(message.message) != nil }
        if isQuestion { self.printBlock(message.text, .notice) }
        return
      }
      self.redraw(message.text, .answer)
      if message.streaming != true { self.state.withLock { $0.open = nil } }
    }
  }

  func remove(_ message: MessageDelete) {
    draw {
      if self.state.withLock({ $0.open?.id == message.message }) {
        self.redraw("", .answer)
        self.state.withLock { $0.open = nil }
      }
      self.state.withLock { _ = $0.interrupted.removeValue(forKey: message.message) }
    }
  }

  func settled(_ message: MessageSettled) {}

  func typing(_ active: Bool) {
    draw {
      self.state.withLock { state in
        state.working = active
        guard !active else { return }
        // Nothing grows any more.
        state.open = nil
        state.interrupted = [:]
      }
    }
  }

  func connected(_ isConnected: Bool) {
    let changed = state.withLock { state in
      defer { state.isConnected = isConnected }
      return state.isConnected != isConnected
    }
    if changed {
      say(isConnected ? "[connected again]" : "[the daemon is away; messages that you type are kept until it is back]")
    }
  }

  func daemonReplaced() {
    let wasWorking = state.withLock { state in
      defer { state.working = false }
      return state.working
    }
    if wasWorking {
      say(
        "[pi-relayd was restarted, and the outcome of your last message is not known. Send it again if no answer comes]"
      )
    }
  }

  // MARK: - Drawing, only on the loop's thread

  private var prompt: String { state.withLock { $0.working ? "⋯ " : "› " } }

  private func draw(_ body: @escaping @Sendable () -> Void) {
    loop.perform { [self] in
      let isBegun = state.withLock { $0.isBegun }
      if isBegun { relay_edit_hide() }
      body()
      guard isBegun else { return }
      relay_edit_prompt(prompt)
      relay_edit_show()
    }
  }

  /// Something else is printed below the message that grows.
  private func closeOpen() {
    state.withLock { state in
      if let open = state.open { state.interrupted[open.id] = Shown(lines: open.shown.lines, first: nil) }
      state.open = nil
    }
  }

  private func printBlock(_ text: String, _ role: MessageRole) {
    closeOpen()
    print(self.text.lines(of: text, role))
  }

  private func print(_ lines: [TerminalLine]) {
    write(lines.map { $0.text + "\n" }.joined())
  }

  /// Makes the growing message show this, from the first line that differs on; lines that have left the screen stay.
  private func redraw(_ text: String, _ role: MessageRole?) {
    guard let (id, shown) = state.withLock({ $0.open }) else { return }
    let height = ChatText.terminalSize.rows
    let lines = self.text.lines(of: text, role)
    let equal = zip(lines, shown.lines).prefix { $0 == $1 }.count
    let top = shown.first ?? equal
    var first = max(top, equal)
    var rows = shown.first == nil ? 0 : shown.lines.dropFirst(first).reduce(0) { $0 + $1.rows }
    while rows >= height {
      rows -= shown.lines[first].rows
      first += 1
    }
    let up = rows > 0 ? "\u{1B}[\(rows)A\u{1B}[J" : ""
    write(up + lines.dropFirst(first).map { $0.text + "\n" }.joined())
    state.withLock { $0.open = (id, Shown(lines: lines, first: top)) }
  }

  private func write(_ text: String) {
    let bytes = Array(text.utf8)
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { Glibc.write(1, $0.baseAddress! + done, bytes.count - done) }
      if count < 0, errno == EAGAIN {
        var ready = pollfd(fd: 1, events: Int16(POLLOUT), revents: 0)
        poll(&ready, 1, 1_000)
        continue
      }
      if count < 0 { return }
      done += count
    }
  }
}
