internal import MessengerKit
internal import PluginSDK

/// The messages of albums, each of which is one message to the agent. Telegram sends them one after another, and does not say which
/// is the last. A pure value.
struct Albums: Sendable {
  /// The messages of an album so far, with their updates.
  struct Album: Sendable {
    var messages: [JSONValue] = []
    var updates: [Int] = []
  }

  /// An album is complete after this time without another message of it.
  static let patience: Duration = .seconds(1)
  private static let remembered = 500

  private var open: [String: (album: Album, last: Duration)] = [:]
  /// The first messages of albums, by the others: edits are told of these.
  private var firsts: [String: Int] = [:]

  /// Takes a message of an album.
  ///
  /// - Returns: whether it begins the album.
  mutating func add(_ message: JSONValue, of album: String, update: Int, now: Duration) -> Bool {
    let isNew = open[album] == nil
    open[album, default: (Album(), now)].album.messages.append(message)
    open[album]?.album.updates.append(update)
    open[album]?.last = now
    return isNew
  }

  /// The time for which an album may yet grow.
  func wait(for album: String, now: Duration) -> Duration {
    open[album].map { max(.zero, $0.last + Self.patience - now) } ?? .zero
  }

  /// Ends an album.
  mutating func finish(_ album: String, in chat: Int) -> Album {
    guard let album = open.removeValue(forKey: album)?.album else { return Album() }
    let ids = album.messages.compactMap { $0["message_id"]?.intValue }
    if firsts.count > Self.remembered { firsts = [:] }
    for id in ids { firsts["\(chat):\(id)"] = ids.min() }
    return album
  }

  /// The message that stands for a message of an album; for other messages itself.
  func first(_ message: Int, in chat: Int) -> Int { firsts["\(chat):\(message)"] ?? message }
}
