// Durations, sizes and numbers of tokens as people read them: one form for each, in logs, messages and on the command line.

extension Duration {
  /// `40 ms`, `1.5 s`, `42 s`, `5 min`, `1 min 30 s`, `2 h 5 min`, `3 d 4 h`: at most two units.
  package var forPeople: String {
    // Rounded before the unit is chosen, so that nothing reads "60 s" or "1000 ms".
    // Other programs may name any number; `Int` ends some way beyond thirty thousand years.
    let milliseconds = Int((min(max(self, .zero), .seconds(1_000_000_000_000)) / .milliseconds(1)).rounded())
    if milliseconds < 1_000 { return milliseconds == 0 ? "0 s" : "\(milliseconds) ms" }
    let tenths = (milliseconds + 50) / 100
    if tenths < 100 { return (tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)") + " s" }
    let seconds = (milliseconds + 500) / 1_000
    if seconds < 60 { return "\(seconds) s" }
    if seconds < 3_600 { return Self.words(seconds, ("min", 60), ("s", 1)) }
    let minutes = (seconds + 30) / 60
    if minutes < 24 * 60 { return Self.words(minutes, ("h", 60), ("min", 1)) }
    return Self.words((minutes + 30) / 60, ("d", 24), ("h", 1))
  }

  private static func words(_ value: Int, _ large: (String, Int), _ small: (String, Int)) -> String {
    let rest = value % large.1
    return "\(value / large.1) \(large.0)" + (rest == 0 ? "" : " \(rest) \(small.0)")
  }

  /// From seconds, as other programs count.
  package init(seconds: Double) {
    // Longer than any duration here; zero for a value that is not finite.
    self = .milliseconds(Int64((seconds.isFinite ? min(max(seconds, 0), 1e12) : 0) * 1_000))
  }
}

/// A number of bytes.
package struct ByteCount: Sendable, Equatable, CustomStringConvertible {
  package let bytes: Int

  package init(_ bytes: Int) {
    self.bytes = bytes
  }

  /// `812 bytes`, `1 KiB`, `1.5 MiB`, `20 GiB`.
  package var description: String {
    guard bytes >= 1_024 else { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
    var value = Double(bytes) / 1_024
    var unit = 0
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    while value >= 1_023.95, unit < units.count - 1 {
      value /= 1_024
      unit += 1
    }
    let tenths = Int((value * 10).rounded())
    let isWhole = tenths % 10 == 0 || tenths >= 100
    return (isWhole ? "\((tenths + 5) / 10)" : "\(tenths / 10).\(tenths % 10)") + " \(units[unit])"
  }
}

/// A number of a model's tokens.
package struct TokenCount: Sendable, Equatable, CustomStringConvertible {
  package let tokens: Int64

  package init(_ tokens: some BinaryInteger) {
    self.tokens = Int64(clamping: tokens)
  }

  /// `999`, `1.5k`, `128k`, `2.3M`.
  package var description: String {
    switch tokens {
    case ..<1_000: "\(tokens)"
    case ..<999_950: Figures.decimal(Double(tokens) / 1_000, places: 1) + "k"
    default: Figures.decimal(Double(tokens) / 1_000_000, places: 1) + "M"
    }
  }
}

package enum Figures {
  /// A decimal number without zeros at its end.
  package static func decimal(_ number: Double, places: Int) -> String {
    guard number.isFinite, abs(number) < 1e12 else { return "\(number)" }
    let factor = (0..<places).reduce(1) { product, _ in product * 10 }
    let whole = Int((abs(number) * Double(factor)).rounded())
    var fraction = String(whole % factor)
    fraction = String(repeating: "0", count: places - fraction.count) + fraction
    while fraction.last == "0" { fraction.removeLast() }
    let sign = number < 0 && whole > 0 ? "-" : ""
    return sign + "\(whole / factor)" + (fraction.isEmpty ? "" : ".\(fraction)")
  }
}
