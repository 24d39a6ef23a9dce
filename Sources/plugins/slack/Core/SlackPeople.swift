internal import MessengerKit
internal import PluginSDK
internal import RelayConcurrency

/// The people of the workspace, as far as they have written: their names, and who is no person of it.
final class SlackPeople: Sendable {
  struct Person: Sendable, Equatable {
    var name: String
    /// A program, or somebody who has left.
    var isNobody: Bool
    /// The workspaces that the person belongs to; empty where Slack does not tell.
    var teams: Set<String>

    init(name: String, isNobody: Bool = false, teams: Set<String> = []) {
      self.name = name
      self.isNobody = isNobody
      self.teams = teams
    }

    init(_ user: JSONValue) {
      let profile = user["profile"]
      let names = [profile?["display_name"], profile?["real_name"], user["real_name"], user["name"]]
      name = names.compactMap { $0?.stringValue }.first { !$0.isEmpty } ?? "?"
      isNobody = user["is_bot"] == true || user["deleted"] == true
      // Slack calls somebody a stranger who is known from a shared channel alone.
      teams = Set(user["enterprise_user"]?["teams"]?.list.compactMap(\.stringValue) ?? [])
      if user["is_stranger"] == true { teams.insert("another") }
      if let team = user["team_id"]?.stringValue { teams.insert(team) }
    }
  }

  private static let remembered = 2_000
  /// Messages wait for it.
  private static let patience: Duration = .seconds(5)

  private let client: SlackClient
  private let log: @Sendable (String) -> Void
  private let known = Locked<[String: Person]>([:])
  private let channels = Locked<[String: String]>([:])
  /// Channels of direct messages, by the person.
  private let direct = Locked<[String: String]>([:])

  init(_ client: SlackClient, log: @escaping @Sendable (String) -> Void) {
    self.client = client
    self.log = log
  }

  /// Somebody by an id; under the id alone where Slack does not tell more.
  func person(_ id: String) async -> Person {
    if let person = known.withLock({ $0[id] }) { return person }
    do throws(RESTError) {
      let person = Person(
        try await client.ask("users.info", ["user": .string(id)], within: Self.patience)["user"] ?? .null)
      known.withLock { known in
        if known.count >= Self.remembered { known = [:] }
        known[id] = person
      }
      return person
    } catch {
      log("the name of \(id) could not be looked up: \(error.words)")
      return Person(name: id)
    }
  }

  /// The name of a channel, for texts that mention it; the id where Slack does not tell.
  func channel(_ id: String) async -> String {
    if let name = channels.withLock({ $0[id] }) { return name }
    let answer = try? await client.ask("conversations.info", ["channel": .string(id)], within: Self.patience)
    guard let name = answer?["channel"]?["name"]?.stringValue else { return id }
    channels.withLock { channels in
      if channels.count >= Self.remembered { channels = [:] }
      channels[id] = name
    }
    return name
  }

  /// The channel of direct messages with somebody.
  func directMessages(with user: String) async throws(RESTError) -> String {
    if let channel = direct.withLock({ $0[user] }) { return channel }
    let answer = try await client.ask("conversations.open", ["users": .string(user)])
    guard let channel = answer["channel"]?["id"]?.stringValue else { throw .unanswered("it named no channel") }
    direct.withLock { direct in
      if direct.count >= Self.remembered { direct = [:] }
      direct[user] = channel
    }
    return channel
  }

  /// A person has changed.
  func forget(_ id: String) { known.withLock { $0[id] = nil } }
}
