import Glibc
internal import RelayModel
import RelayText
import RelayWire

/// Approvals in words.
enum ApprovalText {
  /// A grant as JSON shows it.
  struct Grant: Encodable {
    var id: String
    var requester: Requester
    var summary: String
    /// Seconds since 1970.
    var createdAt: Double
    var expiresAt: Double

    init(_ grant: ApprovalGrant) {
      id = grant.id
      requester = grant.requester
      summary = grant.summary
      createdAt = grant.createdAt
      expiresAt = grant.expiresAt
    }
  }

  static func lines(_ events: [ApprovalEvent], _ grants: [ApprovalGrant]) -> [String] {
    var lines = events.isEmpty ? ["No tool call has waited for an approval."] : StatusText.table(events.map(row))
    guard !grants.isEmpty else { return lines }
    lines.append("Grants for all sessions; to revoke one: pi-relayd approvals revoke ID")
    lines += StatusText.table(
      grants.map { grant in
        [
          grant.id, "until \(local(grant.expiresAt))", person(grant.requester),
          TextSanitizer.line(grant.summary, limit: summaryLimit),
        ]
      })
    return lines
  }

  private static let summaryLimit = 80

  private static func row(_ event: ApprovalEvent) -> [String] {
    let reason = event.detail.map { " — \(TextSanitizer.line($0, limit: summaryLimit))" } ?? ""
    return [
      local(event.at), event.kind.rawValue, event.category, TextSanitizer.line(event.tool), "rule \(event.rule)",
      event.requester.map(person) ?? "-", TextSanitizer.line(event.summary, limit: summaryLimit) + reason,
    ]
  }

  private static func person(_ requester: Requester) -> String {
    TextSanitizer.line("\(requester.person) at \(requester.conversation)", limit: summaryLimit)
  }

  /// The local time of a moment in seconds since 1970.
  private static func local(_ moment: Double) -> String {
    var seconds = time_t(moment)
    var parts = tm()
    localtime_r(&seconds, &parts)
    var text = [CChar](repeating: 0, count: 32)
    let count = strftime(&text, text.count, "%Y-%m-%d %H:%M:%S", &parts)
    return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
