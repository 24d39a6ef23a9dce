internal import RelayJSON
internal import RelayWire

/// A step of the demo agent's work on a prompt.
enum ScriptStep: Sendable, Equatable {
  enum Dialog: Sendable, Equatable {
    case confirm(title: String, message: String)
    case select(title: String, options: [String])
    case input(title: String, placeholder: String)
    case editor(title: String, prefill: String)
  }

  /// Words, streamed in pieces of `piece` characters.
  case say(String, piece: Int, milliseconds: Int)
  case tool(name: String, arguments: String, milliseconds: Int, result: String, image: Bool)
  case ask(Dialog, timeout: Int?)
  case notify(String)
  /// The model's provider fails; `retries` of pi's own attempts follow before the last outcome.
  case fail(String, retries: Int, milliseconds: Int, thenSucceeds: Bool)
  case compaction(milliseconds: Int)
  /// A line on standard output that is not pi's.
  case noise(String)
  case hang
  /// The process ends at once.
  case crash(code: Int32)
}

/// Turns a prompt into steps. A prompt that begins with a command of the demo carries it out; any other prompt is
/// answered. Text after a command and its number is repeated in the answer.
enum Script {
  static let commands: [(name: String, summary: String)] = [
    ("tool", "call a pretend tool: /tool [milliseconds]"),
    ("bash", "pretend to run a command, which may need approval: /bash git push"),
    ("confirm", "ask a yes-or-no question"),
    ("select", "ask to choose"),
    ("input", "ask for a line of text"),
    ("editor", "ask for a longer text"),
    ("long", "a long answer: /long [words]"),
    ("slow", "a slow answer: /slow [words]"),
    ("table", "an answer with a table and code"),
    ("image", "a tool that returns an image"),
    ("fail", "let the model fail"),
    ("retry", "let the model fail once and succeed then"),
    ("hang", "never answer"),
    ("crash", "end the process in mid-answer, or at once: /crash [now]"),
  ]

  /// As an extension's: carried out without a run, and without an entry in the session.
  static let extensionCommand = (name: "ping", summary: "say pong, without the model; /ping fail fails")

  static func isOfExtension(_ prompt: String) -> Bool { prompt.prefix { $0 != " " } == "/" + extensionCommand.name }

  static func steps(for prompt: String, images: [String], number: Int) -> [ScriptStep] {
    let firstLine = prompt.prefix { $0 != "\n" }
    let words = firstLine.split(separator: " ").map(String.init)
    guard let command = words.first, command.hasPrefix("/") else {
      return [answer(prompt, images: images, number: number)]
    }
    let count = words.count > 1 ? Int(words[1]) : nil
    let rest = words.dropFirst(count == nil ? 1 : 2).joined(separator: " ")
    let remark = rest.isEmpty ? "" : " (\(rest))"
    switch command.dropFirst() {
    case "tool":
      return [
        .say("Let me look. ", piece: 6, milliseconds: 5),
        .tool(
          name: "bash", arguments: #"{"command":"ls -l"}"#, milliseconds: count ?? 50, result: "total 0\n", image: false
        ),
        .say("The folder is empty.\(remark)", piece: 6, milliseconds: 5),
      ]
    case "bash":
      let line = words.dropFirst().joined(separator: " ")
      let arguments = String(decoding: JSONCoding.encode(["command": .string(line)] as JSONValue), as: UTF8.self)
      return [
        .tool(name: "bash", arguments: arguments, milliseconds: 20, result: "", image: false),
        .say("I pretended to run: \(line)", piece: 6, milliseconds: 5),
      ]
    case "image":
      return [
        .tool(name: "screenshot", arguments: "{}", milliseconds: 20, result: "one picture", image: true),
        .say("That is the picture.\(remark)", piece: 6, milliseconds: 5),
      ]
    case "confirm":
      return [.ask(.confirm(title: "Clear the cache?\(remark)", message: "It will be built again."), timeout: count)]
    case "select":
      return [.ask(.select(title: "Which colour?\(remark)", options: ["Red", "Green", "Blue"]), timeout: count)]
    case "input": return [.ask(.input(title: "What is your name?\(remark)", placeholder: "a name"), timeout: count)]
    case "editor": return [.ask(.editor(title: "Edit the note", prefill: "First line\nSecond line"), timeout: count)]
    case "long": return [.say(long(words: count ?? 900) + remark, piece: 40, milliseconds: 2)]
    case "slow": return [.say(long(words: count ?? 40) + remark, piece: 6, milliseconds: 100)]
    case "table": return [.say(table, piece: 12, milliseconds: 3)]
    case "notify": return [.notify("Look here"), .say("Done.", piece: 6, milliseconds: 5)]
    case "noise": return [.noise("\u{1B}[32mconsole.log\u{1B}[0m"), .say("Still here.", piece: 6, milliseconds: 5)]
    case "compacting":
      return [.say("Before. ", piece: 6, milliseconds: 5), .compaction(milliseconds: count ?? 0)]
    case "fail": return [.fail(overloaded, retries: count ?? 0, milliseconds: 20, thenSucceeds: false)]
    case "retry": return [.fail(overloaded, retries: 1, milliseconds: count ?? 20, thenSucceeds: true)]
    case "hang": return [.hang]
    case "crash":
      if words.count > 1, words[1] == "now" { return [.crash(code: 42)] }
      return [.say("I was about to say something imp", piece: 4, milliseconds: 20), .crash(code: 42)]
    default: return [answer(prompt, images: images, number: number)]
    }
  }

  /// As a service writes it.
  private static let overloaded =
    #"503 {"type":"error","error":{"type":"overloaded_error","message":"The model is overloaded"}}"#

  private static func answer(_ prompt: String, images: [String], number: Int) -> ScriptStep {
    var text = "You wrote: \(prompt)"
    if !images.isEmpty { text += "\nI received \(images.count) image(s): \(images.joined(separator: ", "))." }
    if number == 0 {
      text +=
        "\n\nI am the demo agent of pi-relay, not a language model: I only show that the relay works. "
        + "Try /tool, /select, /table, /long or /crash."
    }
    return .say(text, piece: 12, milliseconds: 5)
  }

  private static let sentence =
    "The quick brown fox jumps over the lazy dog while the relay keeps every word in its place. "

  private static func long(words: Int) -> String {
    let source = sentence.split(separator: " ")
    var text = ""
    for index in 0..<max(1, words) {
      text += source[index % source.count]
      text += index % 80 == 79 ? "\n\n" : " "
    }
    return text
  }

  private static let table = """
    Here is a table:

    | Name | State | 説明 |
    |------|:-----:|-----:|
    | relay | running | 中継 |
    | pi | idle 🦊 | エージェント |

    And some code:

    ```swift
    let answer = 42
    print(answer)
    ```

    That is **all**.
    """
}
