internal import CQREncode

/// A text as a QR code for a terminal: two modules to a character, in black on white whatever the colours of the terminal are, so that
/// phones read it on a dark background as on a light one.
package struct QRPicture: Sendable, Equatable {
  /// True for a dark module, row by row, without a margin.
  package let modules: [[Bool]]

  /// `nil` for a text that no code holds.
  package init?(of text: String) {
    guard let code = QRcode_encodeString(text, 0, QR_ECLEVEL_L, QR_MODE_8, 1) else { return nil }
    defer { QRcode_free(code) }
    guard let data = code.pointee.data else { return nil }
    let width = Int(code.pointee.width)
    modules = (0..<width).map { row in (0..<width).map { data[row * width + $0] & 1 == 1 } }
  }

  /// The light margin that readers need, in modules.
  private static let margin = 4
  /// Black and white of the 256 colours, which themes of terminals leave as they are.
  private static let colours = "\u{1B}[38;5;16;48;5;231m"
  private static let end = "\u{1B}[0m"

  /// The lines of the picture, each with its colours.
  package var lines: [String] {
    let size = modules.count + 2 * Self.margin
    func isDark(_ row: Int, _ column: Int) -> Bool {
      let (row, column) = (row - Self.margin, column - Self.margin)
      return modules.indices.contains(row) && modules.indices.contains(column) && modules[row][column]
    }
    return stride(from: 0, to: size, by: 2).map { row in
      let characters = (0..<size).map { column in
        switch (isDark(row, column), isDark(row + 1, column)) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
      }
      return Self.colours + characters.joined() + Self.end
    }
  }
}
