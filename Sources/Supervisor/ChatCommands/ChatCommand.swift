package import Pairings
package import RelayWire

/// A command that people type in any messenger, or choose from its menu. `CommandRegistry.all` lists every one.
package protocol ChatCommand: Sendable {
  /// Lower-case letters; typed after a slash.
  var name: String { get }
  /// Other names of the same command.
  var aliases: [String] { get }
  /// The arguments as the help shows them, such as `<name>` or `[page]`; `nil` where there are none.
  var arguments: String? { get }
  /// A few words for the help and the messengers' menus.
  var summary: String { get }
  var durability: CommandDurability { get }
  /// The people who may use it.
  var audience: CommandAudience { get }
  /// Indicates that `completions` has something to offer.
  var completesArguments: Bool { get }

  /// Carries the command out.
  ///
  /// - Returns: the text to show; `nil` where there is nothing to say.
  func run(_ arguments: String, in context: any CommandContext) async -> String?

  /// The buttons beneath the answer, for a messenger that has them.
  func buttons(_ arguments: String, in context: any CommandContext) async -> [[Button]]?

  /// Values that the argument may have.
  func completions(in context: any CommandContext) async -> [String]
}

extension ChatCommand {
  package var aliases: [String] { [] }
  package var arguments: String? { nil }
  package var durability: CommandDurability { .beforeRun }
  package var audience: CommandAudience { .everybody }
  package var completesArguments: Bool { false }
  package func buttons(_ arguments: String, in context: any CommandContext) async -> [[Button]]? { nil }
  package func completions(in context: any CommandContext) async -> [String] { [] }

  /// The line of the help.
  var helpLine: String {
    let names = ([name] + aliases).map { "/\($0)" }.joined(separator: ", ")
    return names + (arguments.map { " \($0)" } ?? "") + " — \(summary)"
  }
}

/// The people who may use a command, among those who are admitted.
package enum CommandAudience: Sendable {
  case everybody
  /// People who may begin sessions: not those who were paired with sessions of others.
  case beginners
  /// People whom the configuration admits.
  case configured

  package func includes(_ rights: ConversationRights) -> Bool {
    switch (self, rights) {
    case (_, .configured), (.everybody, .paired), (.beginners, .paired(_, true)): true
    default: false
    }
  }
}

/// The record of a command that must be on the disk, so that the next daemon does not carry it out a second time.
package enum CommandDurability: Sendable {
  /// None: the command only reads.
  case none
  /// That it has begun, where that can be stored; the command is too urgent to wait for it.
  case bestEffort
  /// That it has begun; where that cannot be stored, the command is not carried out.
  case beforeRun
  /// As `beforeRun`; the command continues after `run` has returned, and ends its message through `CommandContext.end`.
  case untilDone
  /// None of the command's own: it makes a prompt, which has a record.
  case byPrompt
}
