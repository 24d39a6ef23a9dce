package import PiRPC

/// A message with its attachments turned into what a model takes.
package struct PreparedPrompt: Sendable, Equatable {
  package var text: String
  package var images: [PiImage]

  package init(text: String, images: [PiImage]) {
    self.text = text
    self.images = images
  }
}
