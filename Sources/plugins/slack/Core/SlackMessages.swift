internal import MessengerHTTP
internal import MessengerKit
internal import PluginSDK

/// The app and its workspace, as `auth.test` tells.
struct SlackIdentity: Sendable {
  var user: String
  var name: String
  var bot: String?
  var team: String
  var teamName: String
  var scopes: Set<String>

  init(_ words: JSONValue, scopes: Set<String>) {
    user = words["user_id"]?.stringValue ?? ""
    name = words["user"]?.stringValue ?? "?"
    bot = words["bot_id"]?.stringValue
    team = words["team_id"]?.stringValue ?? ""
    teamName = words["team"]?.stringValue ?? "?"
    self.scopes = scopes
  }

  /// - Throws: also where Slack answers with something else.
  static func ask(_ client: SlackClient) async throws(RESTError) -> SlackIdentity {
    let (words, scopes) = try await client.ask(scopes: "auth.test")
    return SlackIdentity(words, scopes: scopes)
  }

  /// Reports whether somebody belongs to another workspace, as the guests of shared channels do.
  func isStranger(_ person: SlackPeople.Person, team: String?) -> Bool {
    if person.teams.contains(self.team) { return false }
    if let team, team != self.team { return true }
    return !person.teams.isEmpty
  }
}

/// A message of a person, of an event or of a channel's history.
struct SlackMessage: Sendable {
  /// Subtypes of messages that people write.
  private static let subtypes: Set<String?> = [nil, "file_share", "thread_broadcast"]

  let data: JSONValue
  let ts: String
  let user: String
  let text: String
  let channel: String

  /// Reads a message; `nil` for messages of programs, this one included, and for notices of Slack's.
  ///
  /// - Parameter channel: that of the history; an event names its own.
  init?(_ data: JSONValue, channel: String? = nil, me: String?) {
    guard Self.subtypes.contains(data["subtype"]?.stringValue), data["bot_id"]?.stringValue == nil,
      data["hidden"] != true, let ts = data["ts"]?.stringValue, let user = data["user"]?.stringValue, user != me,
      let channel = data["channel"]?.stringValue ?? channel
    else { return nil }
    self.data = data
    self.ts = ts
    self.user = user
    self.channel = channel
    text = data["text"]?.stringValue ?? ""
  }

  /// The workspace of the author, where the message names it.
  var team: String? { data["user_team"]?.stringValue ?? data["source_team"]?.stringValue ?? data["team"]?.stringValue }

  /// In direct messages, what is written outside of threads; elsewhere each message begins a thread.
  var place: SlackPlace {
    let thread = data["thread_ts"]?.stringValue ?? ts
    return SlackPlace(channel: channel, thread: channel.hasPrefix("D") && thread == ts ? nil : thread)
  }

  /// The message is the first of its thread, or stands outside of threads.
  var isTop: Bool {
    let thread = data["thread_ts"]?.stringValue
    return thread == nil || thread == ts || data["subtype"] == "thread_broadcast"
  }

  /// The files, fetched with the bot's token from Slack's own addresses alone.
  func files(_ client: SlackClient) async -> [IncomingFile] {
    var files: [IncomingFile] = []
    for file in data["files"]?.list ?? [] {
      guard let id = file["id"]?.stringValue else { continue }
      var file = file
      if file["file_access"] == "check_file_info",
        let more = try? await client.ask("files.info", ["file": .string(id)])["file"]
      {
        file = more
      }
      let url = file["url_private_download"]?.stringValue ?? file["url_private"]?.stringValue
      let source: IncomingFile.Source =
        if let url, client.isOurs(url) { .address(url, headers: client.fileHeaders) } else { .none }
      files.append(
        IncomingFile(
          Attachment(
            id: id, name: file["name"]?.stringValue ?? file["title"]?.stringValue ?? id,
            mime: file["mimetype"]?.stringValue, size: file["size"]?.intValue), from: source))
    }
    return files
  }
}
