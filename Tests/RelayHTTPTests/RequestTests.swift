import FoundationEssentials
import RelayJSON
import RelayWire
import TestSupport
import Testing

@testable import RelayHTTP

@Suite(.serialized, .timeLimit(.minutes(1))) struct RequestTests {
  private func request(
    _ server: PythonServer, _ method: String, _ path: String, _ body: HTTPRequest.Body = .none
  ) -> HTTPRequest {
    var request = HTTPRequest(
      method, "http://127.0.0.1:\(server.ports[0])/\(path)", headers: [("Authorization", "Bot secret")], body: body)
    request.allowsPlainHTTP = true
    return request
  }

  private func echo(_ response: HTTPResponse) throws -> JSONValue {
    try JSONCoding.decode(JSONValue.self, from: response.body)
  }

  @Test(arguments: ["GET", "POST", "PUT", "PATCH", "DELETE"])
  func `every method arrives with its headers`(method: String) async throws {
    try await PythonServer.run("http-server") { server in
      let response = try await CurlEngine.shared.send(request(server, method, "a/b?c=d"))
      #expect(response.status == 200)
      #expect(response.headers["x-test"] == "first" && response.headers["x-reset-after"] == "1.5")
      let seen = try echo(response)
      #expect(seen["method"] == .string(method) && seen["path"] == "/a/b?c=d" && seen["body"] == "")
      #expect(seen["headers"]?["authorization"] == "Bot secret")
    }
  }

  @Test func `bytes and files arrive unchanged, with the brackets of their names`() async throws {
    try await PythonServer.run("http-server") { server in
      let json = try await CurlEngine.shared.send(
        request(server, "POST", "json", .bytes(Array(#"{"a":1}"#.utf8), type: "application/json")))
      let seen = try echo(json)
      #expect(seen["body"] == #"{"a":1}"#)
      #expect(seen["headers"]?["content-type"] == "application/json")
      let folder = try TemporaryFolder()
      let path = try folder.write("file", "from the disk")
      let form = try await CurlEngine.shared.send(
        request(
          server, "POST", "form",
          .multipart([
            .init(name: "payload_json", type: "application/json", content: .bytes(Array("{}".utf8))),
            .init(name: "files[0]", fileName: "notes.txt", type: "text/plain", content: .file(path: path)),
          ])))
      let received = try echo(form)
      let body = try #require(received["body"]?.stringValue)
      #expect(body.contains(#"name="payload_json""#) && body.contains(#"name="files[0]"; filename="notes.txt""#))
      #expect(body.contains("from the disk"))
      await #expect(throws: HTTPError.notSent("a file could not be read")) {
        _ = try await CurlEngine.shared.send(
          request(server, "POST", "form", .multipart([.init(name: "f", content: .file(path: path + ".gone"))])))
      }
    }
  }

  @Test func `refusals of the server are answers`() async throws {
    try await PythonServer.run("http-server") { server in
      for status in [204, 401, 404, 429, 503] {
        let response = try await CurlEngine.shared.send(request(server, "GET", "status=\(status)"))
        #expect(response.status == status)
      }
    }
  }

  @Test func `a failure before the request was sent is told apart from one after it`() async throws {
    try await PythonServer.run("http-server") { server in
      await #expect {
        _ = try await CurlEngine.shared.send(request(server, "POST", "hangup"))
      } throws: { error in
        if case .unanswered? = error as? HTTPError { true } else { false }
      }
      var silent = request(server, "POST", "silence")
      silent.timeoutSeconds = 1
      let slow = silent
      await #expect {
        _ = try await CurlEngine.shared.send(slow)
      } throws: { error in
        if case .unanswered? = error as? HTTPError { true } else { false }
      }
      var nowhere = HTTPRequest("GET", "http://127.0.0.1:1/")
      nowhere.allowsPlainHTTP = true
      let away = nowhere
      await #expect {
        _ = try await CurlEngine.shared.send(away)
      } throws: { error in
        if case .notSent? = error as? HTTPError { true } else { false }
      }
      var plain = request(server, "GET", "x")
      plain.allowsPlainHTTP = false
      let refused = plain
      await #expect(throws: HTTPError.self) { _ = try await CurlEngine.shared.send(refused) }
    }
  }

  @Test(arguments: [
    HTTPRequest.Body.none, .bytes([1], type: "a/b"), .multipart([.init(name: "f", content: .bytes([1]))]),
  ])
  func `what may act twice is sent once, also where a connection that is kept breaks`(body: HTTPRequest.Body)
    async throws
  {
    try await PythonServer.run("http-server") { server in
      func send(_ method: String, _ path: String) async throws -> String {
        String(decoding: try await CurlEngine.shared.send(request(server, method, path, body)).body, as: UTF8.self)
      }
      _ = try await send("POST", "first")
      await #expect {
        _ = try await send("POST", "hangup")
      } throws: { error in
        if case .unanswered? = error as? HTTPError { true } else { false }
      }
      #expect(try await send("GET", "count=hangup") == "1")
    }
  }

  @Test func `an answer that is too large ends the request, and waiting can be cancelled`() async throws {
    try await PythonServer.run("http-server") { server in
      var large = request(server, "GET", "large=1001")
      large.maximumBytes = 1_000
      let limited = large
      await #expect(throws: HTTPError.tooLarge(limit: 1_000)) { _ = try await CurlEngine.shared.send(limited) }
      let waiting = Task { try await CurlEngine.shared.send(request(server, "GET", "silence")) }
      waiting.cancel()
      await #expect(throws: HTTPError.cancelled) { _ = try await waiting.value }
    }
  }
}
