extension String {
  /// The text for a part of an address's path, or for a file's name: every byte but ASCII letters, digits and `-._~` as `%` and two
  /// digits.
  public var percentEncoded: String {
    utf8.map { byte in
      let scalar = Unicode.Scalar(byte)
      let isPlain =
        scalar.properties.isAlphabetic && byte < 128 || (48...57).contains(byte) || "-._~".utf8.contains(byte)
      if isPlain { return String(scalar) }
      let digits = String(byte, radix: 16, uppercase: true)
      return "%" + (digits.count < 2 ? "0" : "") + digits
    }.joined()
  }
}
