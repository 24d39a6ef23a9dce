/// Missed messages of one conversation, fetched page by page.
public struct CatchUp<Message: Sendable>: Sendable {
  /// The most messages of one conversation that are fetched. Of more, the newest are left out, and `isCut` says so.
  public static var maximumMessages: Int { 500 }

  /// The messages, oldest first.
  public private(set) var messages: [Message]
  /// Reports that more messages may have been missed than were fetched: the person is to be told.
  public private(set) var isCut: Bool

  /// Fetches the messages after a watermark.
  ///
  /// - Parameters:
  ///   - watermark: the mark of the last message that was seen.
  ///   - pageSize: the messages of a full page: a page with fewer is the last.
  ///   - mark: the watermark of a message; `nil` for one that is passed over.
  ///   - isOlder: whether the first of two marks comes before the second.
  ///   - page: asks the service for the messages after a mark, in any order.
  /// - Throws: the error of `page`.
  public init<Failure: Error>(
    after watermark: String, pageSize: Int, mark: (Message) -> String?, isOlder: (String, String) -> Bool,
    page: (String) async throws(Failure) -> [Message]
  ) async throws(Failure) {
    var all: [(mark: String, message: Message)] = []
    var last = watermark
    while all.count < Self.maximumMessages {
      let messages = try await page(last)
      let marked = messages.compactMap { message in mark(message).map { (mark: $0, message: message) } }
      all += marked
      guard messages.count >= pageSize, let newest = marked.map(\.mark).max(by: isOlder), isOlder(last, newest) else {
        break
      }
      last = newest
    }
    isCut = all.count >= Self.maximumMessages
    messages = all.sorted { isOlder($0.mark, $1.mark) }.prefix(Self.maximumMessages).map(\.message)
  }
}
