import Formatter
import PluginSDK

/// Renders Markdown into messages of a platform's dialect and size, and tool calls into lines.
@main struct FormatterPlugin: Plugin {
  static let name = "formatter"
  static let version = "0.1.0"
  static let kinds: [PluginKind] = [.service]

  /// Dialects known here. Both show tables as aligned code blocks; `markdown` readers draw the rest themselves.
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
