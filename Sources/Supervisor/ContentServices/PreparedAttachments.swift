internal import FoundationEssentials
internal import RelayWire

/// Attachments turned into what a model takes.
package struct PreparedAttachments: Sendable, Equatable {
  package struct Image: Sendable, Equatable {
    /// Base64.
    package var data: String
    package var mime: String
  }

  package var images: [Image]
  /// The contents of files, and mentions of those that were left out. Empty when there are none.
  package var text: String

  /// Reads the images that a service has written.
  ///
  /// - Parameter folder: the folder that was given to it.
  init(_ reply: AttachmentsPrepare.Reply, beneath folder: String) throws(ContentError) {
    images = try reply.images.map { image throws(ContentError) in
      guard image.base64Path.hasPrefix(folder + "/"), !image.base64Path.contains("/../") else {
        throw .outsideItsFolder
      }
      guard let data = FileManager.default.contents(atPath: image.base64Path) else { throw .unreadable }
      return Image(data: String(decoding: data, as: UTF8.self), mime: image.mime)
    }
    text = reply.text
  }
}

/// The reason why a service did not do its work. Its description continues a sentence for people.
package enum ContentError: Error, Sendable, Equatable, CaseIterable, CustomStringConvertible {
  case unavailable
  case unanswered
  case outsideItsFolder
  case unreadable

  package var description: String {
    switch self {
    case .unavailable: "the attachments service is not available"
    case .unanswered: "the attachments service did not answer for these files twice"
    case .outsideItsFolder: "the attachments service named a file outside its folder"
    case .unreadable: "the attachments service named a file that cannot be read"
    }
  }
}
