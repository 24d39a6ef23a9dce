import ArgumentParser
import BridgeClient
import FoundationEssentials
import RelayJSON
import RelayWire

extension PiBridge {
  struct Questions: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints the questions that wait for an answer.", aliases: ["question-list"])
    @OptionGroup var target: TargetOptions

    func run() throws { try target.exchange(["type": .string("questions")]) }
  }

  struct Answer: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Answers a question.", aliases: ["reply"])
    @OptionGroup var target: TargetOptions
    @Option(help: "The question's id, as `pi-bridge questions` prints it.") var requestId: String
    @Option(help: #"JSON: for each question its labels or words, for example '[["Yes"]]'."#) var answers: String?
    @Argument(help: "The same JSON without --answers.") var words: [String] = []

    func run() throws {
      let text = answers ?? words.joined(separator: " ").trimmingWhitespace()
      guard !text.isEmpty else { throw ValidationError("Missing --answers for answer") }
      try target.exchange([
        "type": .string("answer"), "requestId": .string(requestId), "answers": try readJSON(text, "--answers"),
      ])
    }
  }

  struct Reject: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Takes a question back without an answer.")
    @OptionGroup var target: TargetOptions
    @Option(help: "The question's id, as `pi-bridge questions` prints it.") var requestId: String

    func run() throws { try target.exchange(["type": .string("reject"), "requestId": .string(requestId)]) }
  }

  struct Request: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sends a request as JSON and prints its answer.", aliases: ["raw"])
    @OptionGroup var target: TargetOptions
    @Argument(help: "The JSON object, or - to read it from standard input.") var json: [String]

    func run() throws {
      var text = json.joined(separator: " ").trimmingWhitespace()
      if text == "-" { text = String(decoding: StandardInput.readAll(), as: UTF8.self).trimmingWhitespace() }
      guard !text.isEmpty else { throw ValidationError("Missing JSON command for request") }
      guard let members = try readJSON(text, "the request").objectValue else {
        throw ValidationError("JSON command must be an object")
      }
      guard let type = members["type"]?.stringValue, !type.isEmpty else {
        throw ValidationError("JSON command must include a string type")
      }
      try target.exchange(members)
    }
  }
}

private func readJSON(_ text: String, _ place: String) throws -> JSONValue {
  do {
    return try JSONCoding.decode(JSONValue.self, from: Array(text.utf8))
  } catch {
    throw ValidationError("Invalid JSON in \(place): \(JSONCoding.explain(error))")
  }
}
