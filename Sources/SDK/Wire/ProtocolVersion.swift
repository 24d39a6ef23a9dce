/// Versions of the plugin protocol. Not the product's version.
public enum ProtocolVersion {
  /// The versions that this build speaks, best last.
  public static let supported = [1]

  /// The highest version both sides speak.
  public static func common(_ ours: [Int], _ theirs: [Int]) -> Int? {
    Set(ours).intersection(theirs).max()
  }
}

/// Sizes both sides of a plugin pipe keep to.
public enum ProtocolLimits {
  /// Longest line in bytes; larger content goes through a spool file.
  public static let maximumLineLength = 16 * 1024 * 1024
  /// Unanswered requests in one direction.
  public static let maximumRequestsInFlight = 64
  /// Bytes of unanswered requests in one direction.
  public static let maximumBytesInFlight = 32 * 1024 * 1024
  /// Set in a plugin's environment; without it a plugin was run by hand.
  public static let environmentMarker = "PI_RELAY_PLUGIN"
}
