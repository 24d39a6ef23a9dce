/// How the program was started: those of pi's flags that the daemon uses, and the demo's own `--dialect`.
package struct AgentOptions: Sendable, Equatable {
  package enum Dialect: String, Sendable { case current, cumulative }

  package var dialect = Dialect.current
  package var sessionID: String?
  package var sessionFile: String?
  package var sessionFolder: String?
  package var model: String?
  package var keepsSession = true
  package var wantsVersion = false
  package var wantsHelp = false
  package var listensOnPipes = false
  /// The extension of the daemon: tool calls are submitted to it.
  package var hasExtension = false
  /// No key configured: prompts are rejected as pi rejects them.
  package var lacksKey = false

  package struct UsageError: Error, CustomStringConvertible {
    package let description: String
  }

  package init() {}

  /// Reads the arguments after the program's name.
  package init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    func value(_ flag: String) throws(UsageError) -> String {
      guard let value = rest.popFirst() else { throw UsageError(description: "\(flag) needs a value") }
      return value
    }
    while let argument = rest.popFirst() {
      switch argument {
      case "--mode":
        let mode = try value(argument)
        guard mode == "rpc" else { throw UsageError(description: "only --mode rpc is spoken here, not \(mode)") }
        listensOnPipes = true
      case "--dialect":
        let name = try value(argument)
        guard let known = Dialect(rawValue: name) else {
          throw UsageError(description: "--dialect is current or cumulative, not \(name)")
        }
        dialect = known
      case "--session-id": sessionID = try value(argument)
      case "--session": sessionFile = try value(argument)
      case "--session-dir": sessionFolder = try value(argument)
      case "--model": model = try value(argument)
      case "--extension", "-e":
        _ = try value(argument)
        hasExtension = true
      case "--provider", "--thinking", "--append-system-prompt": _ = try value(argument)
      case "--no-session": keepsSession = false
      case "--approve", "--no-approve", "--offline", "-ne": break
      case "--without-key": lacksKey = true
      case "--version", "-v": wantsVersion = true
      case "--help", "-h": wantsHelp = true
      default: throw UsageError(description: "unknown option \(argument)")
      }
    }
  }

  package static let help = """
    pi-relay-demo-agent: speaks the RPC protocol of the pi coding agent, without a model behind it.
      --mode rpc            speak JSON lines on standard input and output
      --session-id ID       open or create the session with this id
      --session FILE        open or create the session in this file
      --session-dir FOLDER  where sessions are kept
      --no-session          keep nothing
      --model NAME          the name to report
      --extension FOLDER    ask the daemon before tool calls, as its extension does
      --dialect NAME        current (default) or cumulative, as releases before 0.7x
      --without-key         reject every prompt, as pi does without a key
      --version, --help
    """
}
