internal import Glibc

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

  /// Nil for a line without a command.
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
  /// A text in lines of at most so many bytes. No character is torn apart, and no word that fits into a line. What cannot be sent
  /// is left out: empty lines, and control characters, which could end a line or begin a request to the reader's program.
  static func lines(_ text: String, room: Int) -> [String] {
    var (lines, line) = ([String](), "")
    for character in text {
      if line.utf8.count + character.utf8.count > room, !character.isNewline {
        let cut = line.lastIndex(of: " ") ?? line.endIndex
        lines.append(String(line[..<cut]))
        line = String(line[cut...].dropFirst())
      }
      if character.isNewline {
        lines.append(line)
        line = ""
      } else if !character.isControl {
        line.append(character)
      } else if character == "\t" {
        line.append(" ")
      }
    }
    return (lines + [line]).filter { $0.contains { $0 != " " } }
  }

  /// Without colours and styles.
  static func plain(_ text: String) -> String {
    text.replacing(/\u{3}(\d{1,2}(,\d{1,2})?)?|\u{4}([0-9A-Fa-f]{6}(,[0-9A-Fa-f]{6})?)?/, with: "")
      .filter { !$0.isControl }
  }

  /// Reports whether `nick!user@host` matches a pattern with `*` and `?`; case counts nothing.
  static func matches(_ source: String, mask: String) -> Bool {
    let pattern = mask.replacing("\\", with: "\\\\").replacing("[", with: "\\[")
    return fnmatch(pattern.lowercased(), source.lowercased(), 0) == 0
  }
}

extension Character {
  fileprivate var isControl: Bool { unicodeScalars.contains { $0.properties.generalCategory == .control } }
}
