internal import RelayConcurrency

/// Places of the plugins' settings in the configuration file, replaced at each reload.
final class SettingPlaces: Sendable {
  private let places: Locked<[String: [String: String]]>

  /// - Parameter places: instance → dotted path → `relay.yaml:3:5`.
  init(_ places: [String: [String: String]]) {
    self.places = Locked(places)
  }

  func replace(with new: [String: [String: String]]) { places.withLock { $0 = new } }

  /// The place of a setting, or of the nearest group around it; `nil` where the file has neither.
  func locate(_ instance: String, _ path: String) -> String? {
    guard let places = places.withLock({ $0[instance] }) else { return nil }
    var path = path[...]
    while true {
      if let place = places[String(path)] { return place }
      guard let dot = path.lastIndex(of: ".") else { return nil }
      path = path[..<dot]
    }
  }
}
