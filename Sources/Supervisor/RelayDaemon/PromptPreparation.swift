internal import ContentServices
internal import PiRPC
internal import RelayModel
internal import RelayText
internal import RelayWire
internal import SessionStates

extension PreparedPrompt {
  /// A prompt with its files turned into text and images. Files that no service prepares are named, with the reason.
  init(_ prompt: Prompt, by services: Services) async {
    guard !prompt.attachments.isEmpty else {
      self.init(text: prompt.text, images: [])
      return
    }
    do {
      let prepared = try await services.prepare(
        prompt.attachments, of: "\(prompt.key.conversation):\(prompt.key.id)", spoolFolder: prompt.spoolFolder,
        proxy: prompt.proxy, hosts: prompt.hosts)
      let text = [prompt.text, prepared.text].filter { !$0.isEmpty }.joined(separator: "\n\n")
      self.init(
        text: text.isEmpty && !prepared.images.isEmpty ? "[image]" : text,
        images: prepared.images.map { PiImage(data: $0.data, mimeType: $0.mime) })
    } catch {
      let names = prompt.attachments.map { TextSanitizer.fileName($0.name) }.joined(separator: ", ")
      self.init(text: prompt.text + "\n\n[Not included, because \(error): \(names)]", images: [])
    }
  }
}
