import Approvals
import RelayConfig
import RelayWire
import Testing

@Suite struct ApprovalSettingsTests {
  private func load(_ text: String) throws -> ConfigReader.Loaded {
    try ConfigReader(environment: [:]).read(Array(text.utf8), file: "relay.yaml")
  }

  private func complaints(_ text: String) -> [String] {
    do {
      _ = try load(text)
      return []
    } catch let problems as ConfigProblems {
      return problems.problems.map(\.description)
    } catch {
      return ["\(error)"]
    }
  }

  @Test func `every setting is read, and has a default`() throws {
    let loaded = try load(
      """
      approvals:
        enabled: true
        rules:
          - id: push
            tools: [bash]
            categories: [git-remote, publish]
            commandPatterns: ['git push', '/^npm/']
            description: everything that leaves this machine
          - {id: secrets, pathPatterns: [.env], textPatterns: [password]}
        timeoutSeconds: 60
        sessionGrants: false
        sessionGrantSeconds: 600
        persistentGrants: true
        persistentGrantSeconds: 86400
        auditEvents: 50
      """)
    let approvals = loaded.config.approvals
    #expect(approvals.isEnabled && !approvals.sessionGrants && approvals.persistentGrants)
    #expect(approvals.timeout == .seconds(60) && approvals.sessionGrantTime == .seconds(600))
    #expect(approvals.persistentGrantTime == .seconds(86_400) && approvals.auditEvents == 50)
    let first = try #require(approvals.rules.first)
    #expect(first.id == "push" && first.tools == ["bash"] && first.categories == [.gitRemote, .publish])
    #expect(first.commandPatterns.map(\.text) == ["git push", "/^npm/"])
    #expect(first.description == "everything that leaves this machine")
    #expect(approvals.rules.map(\.id) == ["push", "secrets"])
    #expect(approvals.rules[1].pathPatterns.map(\.text) == [".env"])
    #expect(approvals.rules[1].textPatterns.map(\.text) == ["password"])
    #expect(loaded.warnings.isEmpty)

    let defaults = try load("approvals: {}").config.approvals
    #expect(defaults == Config.Approvals())
    #expect(!defaults.isEnabled && defaults.timeout == .seconds(120) && defaults.sessionGrants)
    #expect(defaults.sessionGrantTime == .seconds(3_600) && !defaults.persistentGrants)
    #expect(defaults.persistentGrantTime == .seconds(7 * 86_400) && defaults.auditEvents == 200)
  }

  @Test(arguments: [
    ("timeoutSeconds", "4", "5 to 1800"), ("timeoutSeconds", "1801", "5 to 1800"),
    ("sessionGrantSeconds", "86401", "1 to 86400"), ("persistentGrantSeconds", "2592001", "1 to 2592000"),
    ("auditEvents", "0", "1 to 1000"), ("auditEvents", "1001", "1 to 1000"),
  ])
  func `a number out of range is refused`(key: String, value: String, range: String) {
    #expect(
      complaints("approvals:\n  \(key): \(value)\n")
        == ["relay.yaml:2:\(key.count + 5): \(key): expected a whole number from \(range)"])
  }

  @Test(arguments: [
    ("enabled: maybe", "2:12: enabled: expected true or false"),
    ("rules: push", "2:10: rules: expected a list, found a single value; write it as [a, b] or with dashes"),
    ("rules: [{}]", "2:11: a rule has no id, by which the audit names it; add one, such as id: push"),
    ("rules: [push]", "2:11: approvals.rules: expected a group of settings, as in NAME: VALUE, found a single value"),
    ("enabld: true", "2:3: unknown key \"enabld\" in approvals (did you mean \"enabled\"?)"),
    (
      "rules: [{id: a, tool: [bash]}]", "2:19: unknown key \"tool\" in approvals.rules (did you mean \"tools\"?)"
    ),
    (
      "rules: [{tools: [bash]}]", "2:11: a rule has no id, by which the audit names it; add one, such as id: push"
    ),
    ("rules: [{id: 'a b', tools: [bash]}]", "2:16: id: expected at most 64 of a–z, A–Z, 0–9, - and _"),
    (
      "rules: [{id: a, tools: [x]}, {id: a, tools: [y]}]", "2:37: id: another rule is \"a\", too; give each its own"
    ),
    (
      "rules: [{id: a, categories: [git]}]",
      "2:32: categories: expected some of git-remote, publish, destructive, shell, file-write, custom"
    ),
    (
      "rules: [{id: a, commandPatterns: [x, '/(/']}]",
      "2:40: commandPatterns: \"/(/\" is no regular expression; correct it, or write it without the slashes to look for "
        + "the text"
    ),
    ("rules: [{id: a, tools: [''], textPatterns: [x]}]", "2:27: tools: an empty text is no condition; delete it"),
    ("rules: [{id: a, pathPatterns: [[x]]}]", "2:34: pathPatterns: expected a text, found a list"),
    (
      "rules: [{id: a, description: all}]",
      "2:11: rule \"a\" has no condition and would never match; add tools, categories or patterns"
    ),
    (
      "rules: [{id: a, tools: [write], categories: [git-remote]}]",
      "2:11: rule \"a\" would never match, because its conditions exclude each other: file-write and pathPatterns are for "
        + "write, edit and custom tools, and the other categories and commandPatterns for bash; divide it"
    ),
  ])
  func `a mistake is reported with its place and what to do`(line: String, complaint: String) {
    #expect(complaints("approvals:\n  \(line)\n") == ["relay.yaml:\(complaint)"])
  }

  @Test(arguments: ["enabled: true", "{enabled: true, rules: []}", "{rules: , enabled: true}"])
  func `approvals without rules lead to a warning`(text: String) throws {
    let loaded = try load(text.hasPrefix("{") ? "approvals: \(text)" : "approvals:\n  \(text)\n")
    #expect(loaded.config.approvals.isEnabled)
    #expect(loaded.warnings.count == 1)
    #expect(
      loaded.warnings.first?.hasSuffix(
        ": approvals.enabled: there are no rules, so no tool call waits; add some under approvals.rules") == true)
    #expect(try load("approvals: {enabled: false, rules: []}").warnings.isEmpty)
  }

  @Test func `the name of the section is corrected`() {
    #expect(
      complaints("aprovals: {}") == ["relay.yaml:1:1: unknown key \"aprovals\" (did you mean \"approvals\"?)"])
  }
}
