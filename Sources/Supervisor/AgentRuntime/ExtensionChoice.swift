internal import Glibc
package import RelayConfig

/// The extension that agents are started with, and the reason why there is none.
package enum ExtensionChoice: Sendable, Equatable {
  case folder(String)
  /// The words say the reason and the remedy.
  case missing(String)

  /// - Parameter installed: the folder that was installed beside the plugins.
  package init(_ settings: Config.Pi, installed: String?) {
    guard settings.loadsExtension else {
      self = .missing("pi.extension is off; remove that line")
      return
    }
    guard let folder = settings.extensionFolder ?? installed else {
      self = .missing("it is not installed; set pi.extension to its folder")
      return
    }
    self = Self.isReadable(folder) ? .folder(folder) : .missing(Self.problem(of: folder))
  }

  package var folder: String? { if case .folder(let folder) = self { folder } else { nil } }

  /// The reason why tool calls of a program would not wait for approvals, and the remedy; `nil` where they would. The demo
  /// agent runs nothing.
  package func approvalProblem(of program: AgentExecutable) -> String? {
    if program.isDemo { return nil }
    switch self {
    case .missing(let why): return Self.words(why)
    // It may have gone since the daemon's start.
    case .folder(let folder) where !Self.isReadable(folder): return Self.words(Self.problem(of: folder))
    case .folder:
      if program.takesExtensions == true { return nil }
      return Self.words("\(program.path) does not take --extension; update pi")
    }
  }

  private static func words(_ why: String) -> String {
    "approvals.enabled: without pi-relay's extension no tool call of an agent waits for an approval, so agents do not "
      + "start. \(why), or switch approvals off"
  }

  private static func problem(of folder: String) -> String {
    "\(folder)/index.js cannot be read; correct pi.extension, or install pi-relay again"
  }

  private static func isReadable(_ folder: String) -> Bool { access("\(folder)/index.js", R_OK) == 0 }
}
