import Formatter
import PluginSDK

/// Cuts Markdown into messages of a platform's size, with tables as aligned code blocks, and describes tool calls in a line each.
@main struct FormatterPlugin: Plugin {
  static let name = "formatter"
  static let version = "0.1.0"
  static let kinds: [PluginKind] = [.service]

  /// The dialects of platforms. They differ in the description of tool calls; Markdown other than tables stays as it was written.
  static let dialects = ["plain", "discord", "markdown"]

  init(_ host: Host) {}

  var capabilities: Capabilities {
    var capabilities = Capabilities()
    capabilities.services = [FormatRender.method, FormatTool.method]
    capabilities.dialects = Self.dialects
    capabilities.onDemand = true
    return capabilities
  }

  func render(_ request: FormatRender) async throws -> FormatRender.Reply {
    FormatRender.Reply(pieces: Splitter.split(request))
  }

  func describeTools(_ request: FormatTool) async throws -> FormatTool.Reply {
    FormatTool.Reply(lines: ToolSummary.lines(of: request))
  }
}
