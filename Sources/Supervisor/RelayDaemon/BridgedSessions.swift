internal import AgentSessions
internal import Bridge
internal import BridgeProtocol
internal import ControlServer
internal import PiRPC
internal import ProgramSessions
internal import RelayJSON
internal import RelayModel
internal import RelayWire
internal import SessionCatalog

/// The daemon's sessions as bridges know them.
struct BridgedSessions: BridgeHost {
  let commands: SessionCommands
  let sessions: SessionRegistry
  let attachments: AttachedSessions
  /// Of the environment of processes that the daemon has started.
  let marker: String

  /// An agent's processes look at the bridge of their own session only.
  func admits(_ connection: Int32, to session: String) async -> BridgeAdmission {
    let role = await ControlRole.ofPeer(connection, marker: marker) {
      await sessions.agentProcesses().merging(attachments.processes) { _, latest in latest }
    }
    return switch role {
    case .owner: .acting
    case .agent(let own): own == session ? .looking : .none
    case .stranger: .none
    }
  }

  func state(of session: String) async -> BridgedSession? {
    guard let status = await sessions.listing(session)?.status() else { return nil }
    return BridgedSession(
      name: status.name, isIdle: status.activity == .idle || status.activity == .asleep,
      hasPendingMessages: status.queued > 0)
  }

  func commands(of session: String) async -> [JSONValue] {
    let known = await sessions.session(session)?.agentCommands() ?? []
    return known.map { command in
      var object: [String: JSONValue] = ["name": .string(command.name)]
      object["description"] = command.description.map { .string($0) }
      object["source"] = command.source.map { .string($0) }
      return .object(object)
    }
  }

  func follow(
    _ session: String, _ publish: @escaping @Sendable (_ event: String, _ data: [UInt8]) -> Void
  ) -> @Sendable () -> Void {
    commands.follow(session) { moment in
      let (event, data) = Self.describe(moment)
      publish(event, JSONCoding.encode(data))
    }
  }

  private static func describe(_ moment: SessionMoment) -> (String, JSONValue) {
    switch moment {
    case .input(let text, let isLocal):
      ("input", .object(["source": isLocal ? "interactive" : "rpc", "text": .string(text)]))
    case .asked(let question):
      (
        "question",
        .object([
          "action": "asked", "requestId": .string(question.id), "questions": json(question)["questions"] ?? .null,
        ])
      )
    case .answered(let question, let answer, let name):
      (
        "question",
        .object([
          "action": "answered", "requestId": .string(question), "answer": .string(answer), "by": .string(name),
        ])
      )
    case .withdrawn(let question, let why):
      ("question", .object(["action": "withdrawn", "requestId": .string(question), "reason": .string(why)]))
    }
  }

  // MARK: - Messages

  func prompt(_ session: String, _ prompt: BridgeRequest.Prompt) async throws -> BridgeDelivery {
    let wasIdle = await state(of: session)?.isIdle ?? true
    var request = ProgramPrompt(session: session, text: "")
    switch prompt.content {
    case .text(let text): request.text = text
    case .blocks(let blocks): try Self.read(blocks, into: &request)
    }
    request.delivery =
      switch prompt.delivery {
      case .auto, .now: .auto
      case .steer: .steer
      case .followUp: .followUp
      }
    let receipt: PromptReceipt
    do { receipt = try await commands.prompt(request) } catch { throw BridgeRefusal("Error: \(error.message)") }
    return BridgeDelivery(
      way: receipt.steered == true ? .steer : receipt.behind == nil ? .now : .followUp, wasIdle: wasIdle)
  }

  /// Reads pi's blocks of content: texts become lines of one text.
  private static func read(_ blocks: [JSONValue], into request: inout ProgramPrompt) throws(BridgeRefusal) {
    var texts: [String] = []
    var images: [ProgramPrompt.Image] = []
    for (index, block) in blocks.enumerated() {
      if block["type"] == "text", let text = block["text"]?.stringValue {
        texts.append(text)
      } else if block["type"] == "image", let data = block["data"]?.stringValue,
        let mime = block["mimeType"]?.stringValue
      {
        images.append(ProgramPrompt.Image(data: data, mime: mime))
      } else {
        throw BridgeRefusal(
          #"Error: content[\#(index)] is neither {"type":"text","text"} nor {"type":"image","data","mimeType"}"#)
      }
    }
    request.text = texts.joined(separator: "\n")
    request.images = images.isEmpty ? nil : images
  }

  func abort(_ session: String) async throws {
    do { _ = try await commands.abort(session) } catch { throw BridgeRefusal("Error: \(error.message)") }
  }

  func shutDown(_ session: String) async throws {
    guard let session = await sessions.session(session) else { throw BridgeRefusal("Error: the session was closed") }
    await session.endAgent()
  }

  // MARK: - Questions

  func questions(of session: String) async -> [JSONValue] {
    do { return try await commands.questions(of: session).map { Self.json($0) } } catch { return [] }
  }

  /// A question in the shape of the protocol: a request with one question in it.
  private static func json(_ question: OpenQuestion) -> JSONValue {
    let options = question.kind == "confirm" ? ["Yes", "No"] : question.options
    let words = [question.title, question.message ?? ""].filter { !$0.isEmpty }.joined(separator: "\n")
    return .object([
      "id": .string(question.id),
      "questions": .array([
        .object([
          "header": .string(question.title), "question": .string(words),
          "options": .array(options.map { .object(["label": .string($0), "description": ""]) }),
          "multiple": false, "customLabel": "Something else", "customPlaceholder": "",
        ])
      ]),
    ])
  }

  func answer(_ question: String, of session: String, _ answers: JSONValue) async throws {
    guard let first = answers.arrayValue?.first, let text = first.stringValue ?? first.arrayValue?.first?.stringValue
    else {
      throw BridgeRefusal(#"Error: answers: expected one list of labels for each question, as [["Yes"]]"#)
    }
    do { _ = try await commands.answer(session, question: question, text) } catch {
      throw BridgeRefusal("Error: \(error.message)")
    }
  }

  func reject(_ question: String, of session: String) async throws {
    do { _ = try await commands.answer(session, question: question, nil) } catch {
      throw BridgeRefusal("Error: \(error.message)")
    }
  }
}
