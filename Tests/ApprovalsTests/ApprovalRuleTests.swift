import RelayJSON
import RelayWire
import Testing

@testable import Approvals

@Suite struct ApprovalRuleTests {
  private func rule(
    _ id: String = "r", tools: [String] = [], categories: [ToolCategory] = [], commands: [String] = [],
    paths: [String] = [], texts: [String] = []
  ) -> ApprovalRule {
    var rule = ApprovalRule(id: id)
    rule.tools = tools
    rule.categories = categories
    rule.commandPatterns = commands.compactMap(TextPattern.init)
    rule.pathPatterns = paths.compactMap(TextPattern.init)
    rule.textPatterns = texts.compactMap(TextPattern.init)
    return rule
  }

  private func write(_ path: String, _ content: String = "") -> ToolCall {
    ToolCall(
      tool: "write", input: ["path": .string(path), "content": .string(content)], directory: "/home/ann/project")
  }

  @Test func `tools, categories and any pattern must all match`() {
    let rule = rule(tools: ["Bash", "deploy"], categories: [.gitRemote, .custom], commands: ["origin", "/^x/"])
    #expect(rule.matches(bash("git push origin")))
    #expect(!rule.matches(bash("git push fork")))
    #expect(!rule.matches(bash("echo origin")))
    #expect(!rule.matches(ToolCall(tool: "read", input: ["command": "origin"], directory: "/")))
    #expect(rule.matches(ToolCall(tool: "deploy", input: ["command": "xyz"], directory: "/")))
  }

  @Test func `one pattern of any list is enough`() {
    let rule = rule(paths: [".env"], texts: ["password"])
    #expect(rule.matches(write("a/.env.local")))
    #expect(rule.matches(write("a", "my PASSWORD is")))
    #expect(!rule.matches(write("a", "nothing")))
  }

  @Test func `a call whose input is cut matches where the rest of it could`() {
    let cut = ToolCall(tool: "bash", input: ["command": "ls"], isTruncated: true, directory: "/")
    #expect(rule(categories: [.gitRemote], commands: ["origin"]).matches(cut))
    #expect(!rule(categories: [.fileWrite]).matches(cut) && !rule(tools: ["write"]).matches(cut))
    #expect(!rule().matches(cut))
  }

  @Test func `a rule without constraints matches nothing`() {
    #expect(!rule().matches(bash("rm -rf /")) && rule().isUnconstrained && !rule().canMatch)
  }

  @Test func `the first rule that matches wins`() {
    let rules = [rule("a", tools: ["write"]), rule("b", categories: [.gitRemote]), rule("c", tools: ["bash"])]
    #expect(ApprovalRule.first(of: rules, matching: bash("git push"))?.id == "b")
    #expect(ApprovalRule.first(of: rules, matching: bash("ls"))?.id == "c")
    #expect(ApprovalRule.first(of: rules, matching: ToolCall(tool: "read", input: [:], directory: "/")) == nil)
  }

  @Test func `any of the categories of a command is enough`() {
    #expect(rule(categories: [.destructive]).matches(bash("sudo git push")))
    #expect(!rule(categories: [.shell]).matches(bash("sudo git push")))
  }

  @Test(arguments: ["git push", "GIT PUSH", "/git\\s+push/", "/GIT PUSH ORIGIN$/i", "/^git push/"])
  func `a command is also found as people write it`(pattern: String) {
    let rule = rule(commands: [pattern])
    for command in ["git push origin", "git  push\torigin", "cd x\n/usr/bin/git -C y --no-pager 'push' origin"] {
      #expect(rule.matches(bash(command)), "\(command)")
    }
    #expect(!rule.matches(bash("git status; push origin")))
  }

  @Test(arguments: [
    "/etc/passwd", "../../../etc/passwd", "/home/../etc/./passwd", "//etc/passwd",
  ])
  func `a path is also found as it is resolved`(path: String) {
    #expect(rule(paths: ["/^/etc/passwd$/"]).matches(write(path)))
    #expect(!rule(paths: ["/^/etc/passwd$/"]).matches(write("etc/passwd")))
  }

  @Test func `paths are found under every usual name`() {
    for key in ["path", "file_path", "filePath", "files", "targetDirectory"] {
      let call = ToolCall(tool: "upload", input: [key: ["secrets.txt"]], directory: "/")
      #expect(rule(paths: ["SECRETS"]).matches(call), "\(key)")
    }
    #expect(!rule(paths: ["secrets"]).matches(ToolCall(tool: "x", input: ["note": "secrets"], directory: "/")))
  }

  @Test func `a plain text is taken sign by sign`() {
    #expect(rule(commands: ["a.b(c"]).matches(bash("echo A.B(C)")))
    #expect(!rule(commands: ["a.b"]).matches(bash("echo axb")))
  }

  @Test func `an expression that is none, or empty, is no pattern`() {
    #expect(TextPattern("/(/") == nil && TextPattern("") == nil)
    #expect(TextPattern("/") != nil && TextPattern("//") != nil && TextPattern("(") != nil)
  }

  @Test func `an expression that takes too many steps counts as found`() {
    #expect(rule(commands: ["/^(a+)+$/"]).matches(bash(String(repeating: "a", count: 64) + "!")))
  }

  @Test func `rules whose conditions exclude each other are recognised`() {
    #expect(!rule(tools: ["write"], categories: [.gitRemote]).canMatch)
    #expect(!rule(categories: [.fileWrite], commands: ["x"]).canMatch)
    #expect(!rule(tools: ["bash"], paths: ["x"]).canMatch)
    #expect(rule(tools: ["bash"], paths: ["x"], texts: ["y"]).canMatch)
    #expect(rule(tools: ["write", "bash"], categories: [.gitRemote]).canMatch)
    #expect(rule(categories: [.custom], commands: ["x"]).canMatch)
    #expect(rule(texts: ["x"]).canMatch)
  }
}
