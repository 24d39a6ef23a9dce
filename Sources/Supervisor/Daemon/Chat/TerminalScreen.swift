import CEdit
import Glibc
import RelayPipes
import RelayWire

/// A terminal with a line being edited at the bottom and everything else above it, in place as it streams.
///
/// The terminal is drawn on the event loop's thread only; whatever comes from elsewhere goes there first.
final class TerminalScreen: ChatScreen {
  private struct State {
    var isBegun = false
    var working = false
    var isConnected = true
    /// The message that is still growing at the end of what is printed, and what is shown of it.
    var open: (id: String, text: String)?
    /// Messages that ask something: how it ended is printed below.
    var questions: Set<String> = []
    /// Columns taken on the last printed line; 0 at the start of a line.
    var column = 0
  }

  private let loop = EventLoop.shared
  private let colours: Bool
  private let history: String
  private let state = Locked(State())
  private let token = Locked<EventLoop.Token?>(nil)
  /// The one screen of this process: libedit's callback carries no context.
  private static let lines = Locked<(@Sendable (String?) -> Void)?>(nil)

  init(history: String, environment: [String: String]) {
    self.history = history
    colours = environment["NO_COLOR"] == nil && environment["TERM"] != "dumb"
  }

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
    draw { self.printBlock(text, style: "2") }
  }

  // MARK: - ChatScreen

  func show(_ message: MessageSend, id: String) {
    draw {
      self.closeOpen()
      guard message.streaming == true else {
        if message.role == .dialog { self.state.withLock { _ = $0.questions.insert(id) } }
        self.printBlock(message.text, style: Self.style(of: message.role))
        return
      }
      self.put(message.text)
      self.state.withLock { $0.open = (id, message.text) }
    }
  }

  func change(_ message: MessageEdit) {
    draw {
      guard let open = self.state.withLock({ $0.open }), open.id == message.message else {
        // Only the last message can be changed in place; of earlier ones, what became of a question is news.
        let isQuestion = self.state.withLock { $0.questions.remove(message.message) != nil }
        if isQuestion { self.printBlock(message.text, style: "2") }
        return
      }
      let common = open.text.commonPrefix(with: message.text)
      if common.count < open.text.count { self.put("\n") }
      self.put(String(message.text.dropFirst(common.count)))
      self.state.withLock { $0.open = (open.id, message.text) }
      if message.streaming != true { self.closeOpen() }
    }
  }

  func remove(_ message: MessageDelete) {}

  func settled(_ message: MessageSettled) {}

  func typing(_ active: Bool) {
    draw {
      if !active { self.closeOpen() }
      self.state.withLock { $0.working = active }
    }
  }

  func connected(_ isConnected: Bool) {
    let changed = state.withLock { state in
      defer { state.isConnected = isConnected }
      return state.isConnected != isConnected
    }
    if changed {
      say(isConnected ? "[connected again]" : "[the daemon is away; what you type is kept until it is back]")
    }
  }

  func daemonReplaced() {
    let wasWorking = state.withLock { state in
      defer { state.working = false }
      return state.working
    }
    if wasWorking {
      say("[pi-relayd was started anew; what became of your last message is not known. Say it again if nothing comes]")
    }
  }

  // MARK: - Drawing, only on the loop's thread

  private var prompt: String { state.withLock { $0.working ? "⋯ " : "› " } }

  private func draw(_ body: @escaping @Sendable () -> Void) {
    loop.perform { [self] in
      let isBegun = state.withLock { $0.isBegun }
      if isBegun { relay_edit_hide() }
      resume()
      body()
      suspend()
      guard isBegun else { return }
      relay_edit_prompt(prompt)
      relay_edit_show()
    }
  }

  /// Goes back to where the growing message ends.
  private func resume() {
    let column = state.withLock { $0.column }
    if column > 0 { write("\u{1B}[A\u{1B}[\(column)C") }
  }

  /// Leaves the growing message, so that the prompt stands on a line of its own.
  private func suspend() {
    if state.withLock({ $0.column }) > 0 { write("\n") }
  }

  private func closeOpen() {
    let column = state.withLock { state in
      defer {
        state.open = nil
        state.column = 0
      }
      return state.column
    }
    if column > 0 { write("\n") }
  }

  private func printBlock(_ text: String, style: String?) {
    closeOpen()
    let coloured = colours ? style.map { "\u{1B}[\($0)m\(text)\u{1B}[0m" } : nil
    write((coloured ?? text) + "\n")
  }

  /// Prints part of the growing message and notes where it ends.
  private func put(_ text: String) {
    guard !text.isEmpty else { return }
    write(text)
    var columns: Int32 = 80
    var rows: Int32 = 24
    relay_terminal_size(&columns, &rows)
    let last = text.split(separator: "\n", omittingEmptySubsequences: false).last.map(String.init) ?? ""
    let width = Int(relay_display_width(last))
    state.withLock { state in
      let before = text.contains("\n") ? 0 : state.column
      let column = (before + width) % Int(columns)
      // A line exactly full: the terminal goes on in the next only with the next character.
      if column == 0, before + width > 0 { state.column = 0 } else { state.column = column }
    }
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

  private static func style(of role: MessageRole?) -> String? {
    switch role {
    case MessageRole.notice?, MessageRole.tools?, MessageRole.echo?: "2"
    case MessageRole.dialog?: "1"
    default: nil
    }
  }
}

extension String {
  fileprivate func commonPrefix(with other: String) -> Substring {
    var index = startIndex
    var otherIndex = other.startIndex
    while index < endIndex, otherIndex < other.endIndex, self[index] == other[otherIndex] {
      index = self.index(after: index)
      otherIndex = other.index(after: otherIndex)
    }
    return self[..<index]
  }
}
