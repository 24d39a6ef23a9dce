/// Missed messages of one conversation, fetched page by page.
public struct CatchUp<Message: Sendable>: Sendable {
  /// Of one conversation; of more the newest are left out, which is to be told.
  public static var most: Int { 500 }

  /// Oldest first.
  public private(set) var messages: [Message]
  /// More was missed than is fetched.
  public private(set) var isCut: Bool

  /// Fetches what comes after a watermark.
  ///
  /// - Parameters:
  ///   - pageSize: messages of a full page: a shorter one is the last.
  ///   - mark: a message's watermark; nil for one that is passed over.
  ///   - isOlder: whether the first of two marks comes before the second.
  ///   - page: asks the service for the messages after a mark, in any order.
  /// - Throws: what `page` throws.
  public init<Failure: Error>(
    after watermark: String, pageSize: Int, mark: (Message) -> String?, isOlder: (String, String) -> Bool,
    page: (String) async throws(Failure) -> [Message]
  ) async throws(Failure) {
    var all: [(mark: String, message: Message)] = []
    var last = watermark
    while all.count < Self.most {
      let messages = try await page(last)
      let marked = messages.compactMap { message in mark(message).map { (mark: $0, message: message) } }
      all += marked
      guard messages.count >= pageSize, let newest = marked.map(\.mark).max(by: isOlder), isOlder(last, newest) else {
        break
      }
      last = newest
    }
    isCut = all.count >= Self.most
    messages = all.sorted { isOlder($0.mark, $1.mark) }.prefix(Self.most).map(\.message)
  }
}
