internal import Glibc
internal import MessengerKit

/// One line of the protocol: `@tags :source COMMAND parameters :last`.
///
/// https://modern.ircdocs.horse/#message-format
struct IRCLine: Equatable, Sendable {
  /// Values as they stand in the line.
  var tags: [String: String] = [:]
  /// `nick!user@host`, or a server's name; empty for what bears none.
  var source = ""
  var command: String
  var parameters: [String] = []

  var nick: String { String(source.prefix { $0 != "!" }) }
  /// The last parameter: a text, where the command has one.
  var text: String { parameters.last ?? "" }
  subscript(index: Int) -> String { parameters.indices.contains(index) ? parameters[index] : "" }

  /// Parses a line; `nil` for a line without a command.
  init?(_ bytes: [UInt8]) {
    var rest = String(decoding: bytes, as: UTF8.self).filter { $0 != "\r" }[...]
    func word() -> Substring {
      let word = rest.prefix { $0 != " " }
      rest = rest.dropFirst(word.count).drop { $0 == " " }
      return word
    }
    if rest.first == "@" {
      for tag in word().dropFirst().split(separator: ";") {
        let parts = tag.split(separator: "=", maxSplits: 1)
        tags[String(parts.first ?? "")] = parts.count > 1 ? String(parts[1]) : ""
      }
    }
    if rest.first == ":" { source = String(word().dropFirst()) }
    command = word().uppercased()
    guard !command.isEmpty else { return nil }
    while let first = rest.first {
      parameters.append(String(first == ":" ? rest.dropFirst() : word()))
      if first == ":" { break }
    }
  }
}

/// Texts as IRC carries them.
enum IRCText {
  /// Without colours and styles.
  static func plain(_ text: String) -> String {
    text.replacing(/\u{3}(\d{1,2}(,\d{1,2})?)?|\u{4}([0-9A-Fa-f]{6}(,[0-9A-Fa-f]{6})?)?/, with: "")
      .withoutControls
  }

  /// Reports whether `nick!user@host` matches a pattern with `*` and `?`; case counts nothing.
  static func matches(_ source: String, mask: String) -> Bool {
    let pattern = mask.replacing("\\", with: "\\\\").replacing("[", with: "\\[")
    return fnmatch(pattern.lowercased(), source.lowercased(), 0) == 0
  }
}
