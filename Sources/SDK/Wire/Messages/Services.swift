/// `format.render`: Markdown into messages of a platform's dialect and size. Stateless.
public struct FormatRender: WireRequest, Equatable {
  public static let method = "format.render"
  public static let replyForm = "{pieces: [{text: string, consumed: integer, reopen?: string}]}"

  public struct Piece: Codable, Sendable, Equatable {
    /// Rendered, within the limit.
    public var text: String
    /// How many UTF-8 bytes of the source this and all earlier pieces show.
    public var consumed: Int
    /// What must stand before the rest of the source when it is rendered alone: a fence to reopen, or nothing.
    public var reopen: String?

    public init(text: String, consumed: Int, reopen: String? = nil) {
      self.text = text
      self.consumed = consumed
      self.reopen = reopen
    }
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var pieces: [Piece]
    public init(pieces: [Piece]) { self.pieces = pieces }
  }

  public var text: String
  public var dialect: String
  public var limit: Int
  public var unit: LengthUnit
  /// False while the text is still growing: a table that may not be complete is held back.
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

  public struct Call: Codable, Sendable, Equatable {
    public var name: String
    public var arguments: JSONValue
    public var failed: Bool?

    public init(name: String, arguments: JSONValue, failed: Bool? = nil) {
      self.name = name
      self.arguments = arguments
      self.failed = failed
    }
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var lines: [String]
    public init(lines: [String]) { self.lines = lines }
  }

  public var calls: [Call]
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

  public struct Image: Codable, Sendable, Equatable {
    public var name: String
    public var mime: String
    /// Where the image's base64 text was written, beneath `outputDir`; the reader removes it.
    public var base64Path: String

    public init(name: String, mime: String, base64Path: String) {
      self.name = name
      self.mime = mime
      self.base64Path = base64Path
    }
  }

  public struct Reply: Codable, Sendable, Equatable {
    public var images: [Image]
    /// Text to append to the prompt: file contents and mentions of what was left out. Empty when there is none.
    public var text: String

    public init(images: [Image], text: String) {
      self.images = images
      self.text = text
    }
  }

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
