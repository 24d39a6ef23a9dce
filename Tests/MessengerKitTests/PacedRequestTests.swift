import MessengerKit
import PluginSDK
import RelayConcurrency
import Testing

@Suite(.timeLimit(.minutes(1))) struct PacedRequestTests {
  private let lane = RateLimits.Lane("send", place: "c")
  private let requests = PacedRequests(RateLimits(maximum: 1_000, within: .seconds(1), spare: 0))

  /// Answers with one failure after another, then with the number of the try.
  private func ask(_ failures: [RESTError], isRepeatable: Bool = true, within limit: Duration = .seconds(20)) async
    -> Result<Int, RESTError>
  {
    let tries = Locked(0)
    do throws(RESTError) {
      return .success(
        try await requests.perform(lane, within: limit, isRepeatable: isRepeatable) { _ throws(RESTError) in
          let number = tries.withLock { tries in
            tries += 1
            return tries
          }
          guard number > failures.count else { throw failures[number - 1] }
          return number
        })
    } catch {
      return .failure(error)
    }
  }

  @Test
  func `a request that the service has not seen is repeated, and one that it may have seen only when that is harmless`()
    async
  {
    #expect(await ask([.unreachable("no route")]) == .success(2))
    #expect(await ask([.unanswered("it hung up")]) == .success(2))
    #expect(await ask([.unanswered("it hung up")], isRepeatable: false) == .failure(.unanswered("it hung up")))
    let refusal = RESTError.refused(status: 403, code: "5", "no")
    #expect(await ask([refusal]) == .failure(refusal))
  }

  @Test func `a possible effect is not forgotten over a later failure`() async {
    let refusal = RESTError.refused(status: 400, code: nil, "no")
    #expect(await ask([.unanswered("it hung up"), refusal]) == .failure(.unanswered("it hung up")))
  }

  @Test func `a refused token is used no more, until a request that tries it finds it good`() async {
    let asked = Locked(0)
    let ask = { @Sendable [requests, lane] (credential: PacedRequests.Credential, status: Int) async in
      do throws(RESTError) {
        return try await requests.perform(lane, within: .seconds(5), credential: credential) { _ throws(RESTError) in
          asked.withLock { $0 += 1 }
          if status != 200 { throw .refused(status: status, code: nil, "no") }
          return true
        }
      } catch {
        return false
      }
    }
    #expect(await ask(.none, 401) == false)
    #expect(await ask(.used, 200))
    #expect(await ask(.used, 401) == false)
    #expect(await ask(.used, 200) == false)
    #expect(asked.withLock { $0 } == 3, "the last was not made")
    #expect(await ask(.none, 200))
    #expect(await ask(.probed, 401) == false)
    #expect(await ask(.used, 200) == false)
    #expect(await ask(.probed, 200))
    #expect(await ask(.used, 200))
  }

  @Test func `a long wait is left to the host`() async {
    await requests.learn { [lane] in $0.refused(lane, for: .seconds(60), now: $1) }
    guard case .failure(.rateLimited(let seconds)) = await ask([]) else { return #expect(Bool(false)) }
    #expect((55...60).contains(seconds))
    #expect(await requests.takesRoomToSpare(for: lane) == false)
    #expect(await requests.takesRoomToSpare(for: .init("send", place: "d")))
  }

  @Test func `one request of a bucket is in progress at a time`() async {
    let (inside, most) = (Locked(0), Locked(0))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<20 {
        group.addTask {
          _ = try? await requests.perform(lane, within: .seconds(20)) { _ throws(RESTError) in
            let now = inside.withLock { inside in
              inside += 1
              return inside
            }
            most.withLock { $0 = max($0, now) }
            await Task.yield()
            inside.withLock { $0 -= 1 }
          }
        }
      }
    }
    #expect(most.withLock { $0 } == 1)
  }

  @Test func `only a refusal of the request itself lasts, and not one of the token`() {
    func isLasting(_ status: Int) -> Bool { RESTError.refused(status: status, code: nil, "no").isLasting }
    #expect([400, 403, 404].map(isLasting) == [true, true, true])
    #expect([401, 500, 503].map(isLasting) == [false, false, false])
    let passing: [RESTError] = [.unreachable("x"), .unanswered("x"), .rateLimited(seconds: 1)]
    #expect(passing.allSatisfy { !$0.isLasting })
  }

  @Test func `a failure says what happened, where, and the meaning of a number`() {
    let refusal = RESTError.refused(status: 403, code: "50013", "Missing Permissions")
    #expect(refusal.deliveryFailure(at: "Chat") == .forbidden("Chat: Missing Permissions (50013)"))
    #expect(
      refusal.deliveryFailure(at: "Chat", explain: { .forbidden("\($0): ask for it") })
        == .forbidden("50013: ask for it"))
    // A service may answer 200 to what it refuses.
    let unknown = RESTError.refused(status: 200, code: "channel_not_found", "channel_not_found")
    #expect(unknown.deliveryFailure(at: "Chat", explain: { .notFound($0) }) == .notFound("channel_not_found"))
    #expect(unknown.deliveryFailure(at: "Chat") == .invalid("Chat: channel_not_found (channel_not_found)"))
    #expect(RESTError.unanswered("x").deliveryFailure(at: "Chat") == .unknownOutcome("Chat did not answer: x"))
    #expect(
      RESTError.refused(status: 502, code: nil, "").deliveryFailure(at: "Chat") == .transient("Chat answered 502"))
  }
}
