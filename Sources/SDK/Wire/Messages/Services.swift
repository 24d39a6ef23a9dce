public import RelayJSON

/// `format.render`: Markdown into messages of a platform's dialect and size. Stateless.
public struct FormatRender: WireRequest, Equatable {
  public static let method = "format.render"
  public static let replyForm = "{pieces: [{text: string, consumed: integer, reopen?: string}]}"

  /// A part of the text, rendered for one message.
  public struct Piece: Codable, Sendable, Equatable {
    /// Rendered, within the limit.
    public var text: String
    /// How many UTF-8 bytes of the source this and all earlier pieces show.
    public var consumed: Int
    /// The text that must stand before the rest of the source when that is rendered alone, such as a fence to reopen;
    /// `nil` for none.
    public var reopen: String?

    public init(text: String, consumed: Int, reopen: String? = nil) {
      self.text = text
      self.consumed = consumed
      self.reopen = reopen
    }
  }

  /// The answer of `format.render`.
  public struct Reply: Codable, Sendable, Equatable {
    /// The pieces, in the order of the source.
    public var pieces: [Piece]
    public init(pieces: [Piece]) { self.pieces = pieces }
  }

  /// The source, in Markdown.
  public var text: String
  /// The dialect of the pieces, from the service's `Capabilities.dialects`.
  public var dialect: String
  /// The longest piece after rendering, counted in `unit`.
  public var limit: Int
  /// The unit of `limit`.
  public var unit: LengthUnit
  /// False while the text still grows: a table that may be incomplete is withheld.
  public var final: Bool

  public init(text: String, dialect: String, limit: Int, unit: LengthUnit, final: Bool) {
    self.text = text
    self.dialect = dialect
    self.limit = limit
    self.unit = unit
    self.final = final
  }
}

/// `format.tool`: one line for each tool call.
public struct FormatTool: WireRequest, Equatable {
  public static let method = "format.tool"
  public static let replyForm = "{lines: [string]}"

  /// A tool call of the agent.
  public struct Call: Codable, Sendable, Equatable {
    /// The tool's name.
    public var name: String
    /// The arguments as the agent gave them; null where they are not known.
    public var arguments: JSONValue
    /// The call failed; `nil` where it did not.
    public var failed: Bool?

    public init(name: String, arguments: JSONValue, failed: Bool? = nil) {
      self.name = name
      self.arguments = arguments
      self.failed = failed
    }
  }

  /// The answer of `format.tool`.
  public struct Reply: Codable, Sendable, Equatable {
    /// A line for each call, in the order of the calls.
    public var lines: [String]
    public init(lines: [String]) { self.lines = lines }
  }

  /// The calls, in the order in which the lines are shown.
  public var calls: [Call]
  /// The dialect of the lines, from the service's `Capabilities.dialects`.
  public var dialect: String

  public init(calls: [Call], dialect: String) {
    self.calls = calls
    self.dialect = dialect
  }
}

/// `attachments.prepare`: files into what a model takes. Stateless.
public struct AttachmentsPrepare: WireRequest, Equatable {
  public static let method = "attachments.prepare"
  public static let replyForm = "{images: [{name: string, mime: string, base64Path: string}], text: string}"

  /// An image that was prepared for a model.
  public struct Image: Codable, Sendable, Equatable {
    /// The name of the image's file.
    public var name: String
    /// The MIME type, as the service has found it.
    public var mime: String
    /// Where the image's base64 text was written, beneath `outputDir`; the reader removes it.
    public var base64Path: String

    public init(name: String, mime: String, base64Path: String) {
      self.name = name
      self.mime = mime
      self.base64Path = base64Path
    }
  }

  /// The answer of `attachments.prepare`.
  public struct Reply: Codable, Sendable, Equatable {
    /// The images among the attachments.
    public var images: [Image]
    /// Text to append to the prompt: file contents and mentions of what was left out. Empty when there is none.
    public var text: String

    public init(images: [Image], text: String) {
      self.images = images
      self.text = text
    }
  }

  /// The files, each with a `path` beneath `spoolDir`, or a `url` to fetch.
  public var attachments: [Attachment]
  /// The folder that `path`s must be beneath.
  public var spoolDir: String
  /// Where images are written.
  public var outputDir: String
  /// Proxy for downloads, if the messenger uses one.
  public var proxy: String?
  /// Hosts that may be fetched from behind a proxy, where addresses cannot be judged.
  public var hosts: [String]?

  public init(
    attachments: [Attachment], spoolDir: String, outputDir: String, proxy: String? = nil, hosts: [String]? = nil
  ) {
    self.attachments = attachments
    self.spoolDir = spoolDir
    self.outputDir = outputDir
    self.proxy = proxy
    self.hosts = hosts
  }
}
