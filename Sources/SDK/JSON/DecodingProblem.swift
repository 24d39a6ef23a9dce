extension JSONCoding {
  /// The fault of JSON that could not be decoded, and its place, in words for the author of the other side.
  public static func explain(_ error: any Error) -> String {
    switch error as? DecodingError {
    case .keyNotFound(let key, let context): "\(path(context.codingPath + [key])) is missing"
    case .typeMismatch(let type, let context): "\(path(context.codingPath)) is not \(name(of: type))"
    case .valueNotFound(let type, let context): "\(path(context.codingPath)) is null, not \(name(of: type))"
    case .dataCorrupted(let context): "\(path(context.codingPath)): \(context.debugDescription)"
    default: "\(error)"
    }
  }

  private static func path(_ keys: [any CodingKey]) -> String {
    let path = keys.reduce(into: "") { path, key in
      path += key.intValue.map { "[\($0)]" } ?? (path.isEmpty ? "" : ".") + key.stringValue
    }
    return path.isEmpty ? "the line" : path
  }

  private static func name(of type: Any.Type) -> String {
    switch type {
    case is String.Type: "a string"
    case is Bool.Type: "a boolean"
    case is Double.Type: "a number"
    case is any BinaryInteger.Type: "an integer"
    case is any ExpressibleByArrayLiteral.Type: "a list"
    default: "an object"
    }
  }
}
