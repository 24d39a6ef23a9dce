import AgentRuntime
import FoundationEssentials
import RelayConfig
import TestSupport
import Testing

@Suite struct ExtensionChoiceTests {
  private let pi = AgentExecutable(path: "/bin/pi", takesSessionID: true, takesExtensions: true, isDemo: false)

  private func choice(_ settings: Config.Pi = Config().pi, installed: String? = nil) -> ExtensionChoice {
    ExtensionChoice(settings, installed: installed)
  }

  private func install(_ name: String, in scratch: TemporaryFolder) throws {
    try FileManager.default.createDirectory(atPath: "\(scratch.path)/\(name)", withIntermediateDirectories: true)
    try scratch.write("\(name)/index.js", "")
  }

  @Test func `the configured folder counts before the installed one`() throws {
    let scratch = try TemporaryFolder()
    for name in ["mine", "installed"] { try install(name, in: scratch) }
    var settings = Config().pi
    #expect(choice(settings, installed: scratch.path + "/installed") == .folder(scratch.path + "/installed"))
    settings.extensionFolder = scratch.path + "/mine"
    #expect(choice(settings, installed: scratch.path + "/installed") == .folder(scratch.path + "/mine"))
    #expect(choice(settings).approvalProblem(of: pi) == nil)
  }

  @Test func `a program whose calls would not wait is named with the remedy`() throws {
    let scratch = try TemporaryFolder()
    try install("there", in: scratch)
    var settings = Config().pi
    settings.extensionFolder = scratch.path + "/none"
    #expect(choice(settings).approvalProblem(of: pi)?.contains("/none/index.js cannot be read; correct") == true)
    #expect(choice().approvalProblem(of: pi)?.contains("set pi.extension to its folder") == true)
    let there = choice(installed: scratch.path + "/there")
    for takes in [false, nil] {
      var old = pi
      old.takesExtensions = takes
      #expect(there.approvalProblem(of: old)?.contains("/bin/pi does not take --extension; update pi") == true)
    }
    try FileManager.default.removeItem(atPath: scratch.path + "/there/index.js")
    #expect(there.approvalProblem(of: pi)?.contains("/there/index.js cannot be read") == true)
  }

  @Test func `the demo agent runs nothing, and needs no extension`() {
    var demo = pi
    demo.isDemo = true
    #expect(choice().approvalProblem(of: demo) == nil)
  }
}
