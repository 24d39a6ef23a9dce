package import RelayWire
import Testing

extension FakeMessenger {
  /// Waits for a question with buttons.
  package func buttonsOfQuestion() async -> [Button] {
    await wait { $0.questions.last?.buttons != nil }
    return questions.last?.buttons?.flatMap { $0 } ?? []
  }

  /// Answers the question that is asked last by the button whose label has this in it.
  package func answer(pressing label: String) async throws {
    let buttons = await buttonsOfQuestion()
    let button = try #require(buttons.first { $0.label.contains(label) }, "\(buttons)")
    try await press(button.id, id: "press \(label)")
  }
}
