import MessengerKit
import PluginSDK
import Testing

@Suite struct WatermarkTests {
  private static func marks(_ kept: JSONValue? = nil) -> Watermarks {
    Watermarks(kept: kept, isOlder: { (Int($0) ?? 0) < (Int($1) ?? 0) })
  }

  private static func kept(_ marks: Watermarks) -> JSONValue {
    var state: [String: JSONValue] = [:]
    marks.keep(in: &state)
    return .object(state)
  }

  @Test func `the last message of each conversation is stored and read back`() {
    var marks = Self.marks()
    marks.saw("5", in: "a")
    marks.saw("7", in: "b")
    marks.saw("16", in: "a")
    marks.saw("4", in: "a")
    let back = Self.marks(Self.kept(marks))
    #expect(back["a"] == "16" && back["b"] == "7")
  }

  @Test func `many strangers do not displace a conversation that is to be kept`() {
    var marks = Self.marks()
    marks.saw("1", in: "mine", keeping: ["mine"])
    for number in 0..<500 { marks.saw("\(number + 2)", in: "other-\(number)", keeping: ["mine"]) }
    #expect(marks["mine"] == "1")
    #expect(marks.all.count == Watermarks.maximumConversations)
  }

  @Test func `after a gap nothing counts as seen until it was fetched`() {
    var marks = Self.marks()
    marks.saw("1", in: "a")
    marks.miss("a")
    marks.saw("2", in: "a")
    var back = Self.marks(Self.kept(marks))
    back.saw("3", in: "a")
    #expect(back["a"] == "1")
    back.caughtUp("a")
    back.saw("3", in: "a")
    #expect(back["a"] == "3")
  }

  /// A history of ten thousand messages in pages of a hundred, each page in disorder.
  private func page(after mark: String) -> [Int] {
    let first = (Int(mark) ?? 0) + 1
    return first > 10_000 ? [] : (first..<min(first + 100, 10_001)).reversed()
  }

  @Test func `missed messages are fetched page by page, oldest first, up to a limit`() async {
    let isOlder: (String, String) -> Bool = { (Int($0) ?? 0) < (Int($1) ?? 0) }
    let all = await CatchUp(after: "9750", pageSize: 100, mark: { "\($0)" }, isOlder: isOlder) { page(after: $0) }
    #expect(all.messages == Array(9_751...10_000) && !all.isCut)
    let many = await CatchUp(after: "0", pageSize: 100, mark: { "\($0)" }, isOlder: isOlder) { page(after: $0) }
    #expect(many.messages == Array(1...500) && many.isCut)
  }

  @Test func `a service that repeats a page is not asked for ever`() async {
    var asked = 0
    let found = await CatchUp<Int>(after: "5", pageSize: 1, mark: { "\($0)" }, isOlder: { $0 < $1 }) { _ in
      asked += 1
      return [5]
    }
    #expect(asked == 1 && found.messages == [5])
  }
}
