/// The report on a plugin that is tried, line by line as results are known.
final class ConformanceReport {
  private let tell: (ConformanceSuite.Result) -> Void
  private(set) var allPassed = true

  init(_ tell: @escaping (ConformanceSuite.Result) -> Void) { self.tell = tell }

  /// - Parameter problem: nil where the check passed.
  func note(_ check: String, _ section: ConformanceSuite.Section, _ problem: String?) {
    tell(.init(check: check, outcome: problem == nil ? .passed : .failed, detail: problem, section: section.rawValue))
    if problem != nil { allPassed = false }
  }

  /// Tells of checks that were not made.
  func skip(_ checks: String, because reason: String) {
    tell(.init(check: checks, outcome: .untried, detail: "not tried, because \(reason)"))
  }
}
