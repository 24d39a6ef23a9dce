internal import ConversationSessions
internal import PluginRuntime
internal import RelayText
internal import RelayWire

/// A messenger as people name it: `KIND`, or `KIND:INSTANCE` for one of several of a kind.
package struct MessengerName: Sendable {
  private let words: String

  package init(_ words: String) { self.words = words }

  /// Reports whether it names the instance `KIND/NAME`.
  package func names(_ instance: String) -> Bool {
    let wanted = words.replacing(":", with: "/")
    return wanted == instance || instance.split(separator: "/").first.map(String.init) == wanted
  }
}

extension ConversationDirectory {
  /// The connected messenger of this name; of several, the one that is named `default`.
  func link(to messenger: String) throws(WireError) -> PluginConnection {
    let all = links.filter { !$0.isLocal }
    let named = all.filter { MessengerName(messenger).names($0.name) }
    guard let link = named.count > 1 ? named.first(where: { $0.name.hasSuffix("/default") }) : named.first else {
      let others = all.map { $0.name.replacing("/", with: ":") }.sorted()
      let known = others.isEmpty ? "none is; see pi-relayd status" : "there are: \(others.joined(separator: ", "))"
      throw WireError(
        .invalidParams, "messenger: \(TextSanitizer.line(messenger)) is not connected, or names several; \(known)")
    }
    return link
  }
}
