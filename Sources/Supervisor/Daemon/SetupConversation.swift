import FoundationEssentials
import Glibc
internal import PluginConformance
import RelayConcurrency
internal import RelayHome
import RelayJSON
import RelayTransport
import RelayWire

/// Answers given with the command.
struct SetupAnswers {
  private(set) var given: [String: String] = [:]
  /// Settings that came from files: a secret may.
  private(set) var fromFiles: Set<String> = []

  /// Settings given with the command go before those of the file.
  mutating func take(_ bot: ImportedBot) {
    for (name, answer) in bot.answers where given[name] == nil {
      given[name] = answer
      fromFiles.insert(name)
    }
  }

  init(set: [String], fromFile: [String]) throws {
    for pair in set { try add(pair, of: "--set") { $0 } }
    for pair in fromFile {
      let name = try add(pair, of: "--from-file") { path in
        guard access(path, R_OK) == 0, let data = FileManager.default.contents(atPath: path) else {
          throw SetupError(description: "--from-file \(pair): \(path) cannot be read: \(SystemError.reason())")
        }
        return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
      }
      fromFiles.insert(name)
    }
  }

  @discardableResult
  private mutating func add(
    _ pair: String, of option: String, _ read: (String) throws -> String
  ) throws -> String {
    let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty else {
      let value = option == "--set" ? "VALUE" : "PATH"
      throw SetupError(description: "\(option) \"\(pair)\" is not of the form NAME=\(value)")
    }
    given[parts[0]] = try read(parts[1])
    return parts[0]
  }
}

struct SetupError: Error, CustomStringConvertible {
  let description: String
}

/// How the terminal was before a secret was typed.
private let seen = Locked<termios?>(nil)

/// The questions of a plugin, put to the person at the terminal, or to whoever writes to standard input.
struct SetupConversation {
  let path: String
  let answers: SetupAnswers
  let surroundings: CommandLineEnvironment
  /// The settings that the file has for every messenger.
  let proxy: String?

  /// `nil` for a plugin that cannot be set up this way.
  func run() async throws -> SetupReply? {
    let trial = try PluginProbe(
      path: path, environment: surroundings.environment, folder: surroundings.home.path)
    var known = answers.given.mapValues { JSONValue.string($0) }
    if let proxy, known["proxy"] == nil { known["proxy"] = .string(proxy) }
    do {
      let reply = try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await answer(trial.peer) }
        defer { group.cancelAll() }
        return try await trial.peer.request(SetupRequest(config: .object(known)), within: .seconds(24 * 3_600))
      }
      await trial.end()
      return reply
    } catch let error as ConnectionError {
      await trial.end()
      guard case .refused(let refusal) = error else {
        // The file cannot be started, or is no plugin: the person is shown the settings to write by hand.
        switch error {
        case .closed, .notSent: return nil
        default: throw error
        }
      }
      if refusal.code == .methodNotFound || refusal.code == .invalidRequest { return nil }
      throw SetupError(description: refusal.message)
    }
  }

  private func answer(_ peer: JSONRPCConnection) async throws {
    for await request in peer.requests {
      do {
        switch request.method {
        case SetupSay.method:
          print(try request.params(SetupSay.self).text)
          fflush(nil)
          request.reply(Empty())
        case SetupAsk.method:
          let ask = try request.params(SetupAsk.self)
          request.reply(SetupAsk.Reply(answer: try answer(ask)))
        default: throw WireError(.methodNotFound, "there is no method \(request.method) in a set-up")
        }
      } catch let error as WireError {
        request.fail(error)
      } catch {
        request.fail(WireError(.internalError, "\(error)"))
      }
    }
  }

  private func answer(_ ask: SetupAsk) throws -> String {
    let isSecret = ask.secret == true
    if let given = answers.given[ask.name], !isSecret || answers.fromFiles.contains(ask.name) { return given }
    let isTerminal = isatty(STDIN_FILENO) == 1
    print(ask.question, terminator: isTerminal ? " " : "\n")
    fflush(nil)
    guard let line = isSecret && isTerminal ? Self.readUnseen() : readLine() else {
      let option = isSecret ? "--from-file \(ask.name)=PATH" : "--set \(ask.name)=VALUE"
      throw SetupError(description: "there is no answer for \"\(ask.name)\"; give it with \(option)")
    }
    return line
  }

  /// Reads a line that is not shown.
  private static func readUnseen() -> String? {
    var usual = termios()
    guard tcgetattr(STDIN_FILENO, &usual) == 0 else { return readLine() }
    var unseen = usual
    unseen.c_lflag &= ~tcflag_t(ECHO)
    // A person who leaves here gets back a terminal that shows what is typed.
    seen.withLock { $0 = usual }
    let before = signal(SIGINT) { _ in
      seen.withLock { usual in if var usual { tcsetattr(STDIN_FILENO, TCSAFLUSH, &usual) } }
      _exit(130)
    }
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &unseen)
    defer {
      signal(SIGINT, before)
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &usual)
      print()
    }
    return readLine()
  }
}
