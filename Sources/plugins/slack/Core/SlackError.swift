internal import MessengerKit
internal import PluginSDK

/// Slack's codes for what it refuses, as the kit and the host know them.
///
/// https://docs.slack.dev/reference/methods/chat.postMessage#errors
enum SlackError {
  /// The token is refused: only a person can resolve that.
  static let ofToken: Set<String> = [
    "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "org_login_required",
    "not_allowed_token_type", "team_access_not_granted", "access_denied",
  ]
  /// Slack may have acted on the request.
  private static let uncertain: Set<String> = ["internal_error", "fatal_error", "request_timeout"]
  private static let passing: Set<String> = ["service_unavailable", "team_added_to_org", "ekm_access_denied"]
  private static let unknown: Set<String> = [
    "message_not_found", "channel_not_found", "thread_not_found", "cant_update_message", "edit_window_closed",
    "cant_delete_message", "is_inactive", "file_not_found",
  ]

  /// The error of an answer with `"ok": false`.
  static func read(_ answer: JSONValue, _ method: String) -> RESTError {
    let code = answer["error"]?.stringValue ?? "unknown_error"
    if uncertain.contains(code) { return .unanswered(code) }
    if passing.contains(code) { return .refused(status: 503, code: code, method) }
    let needed = answer["needed"]?.stringValue.map { " \($0)" } ?? ""
    if code == "missing_scope" {
      return .refused(status: 403, code: code, "the app lacks the scope\(needed) for \(method)")
    }
    let status = ofToken.contains(code) ? 401 : unknown.contains(code) ? 404 : code == "msg_too_long" ? 413 : 400
    return .refused(status: status, code: code, "Slack refuses \(method)")
  }

  /// The problem that only a person can resolve; `nil` for other failures.
  static func problem(_ error: RESTError) -> String? {
    guard case .refused(_, let code?, let words) = error else { return nil }
    switch code {
    case "token_revoked", "token_expired":
      return
        "Slack says that the token was revoked (\(code)); install the app again under OAuth & Permissions, copy the token, "
        + "and restart the plugin"
    case "account_inactive":
      return "Slack says that the bot or its workspace is gone (\(code)); install the app again and copy its token"
    case "missing_scope":
      return "\(words); add it under OAuth & Permissions and install the app again (missing_scope)"
    case "link_disabled", "socket_mode_not_enabled":
      return "Socket Mode is switched off for the app; switch it on under Socket Mode (\(code))"
    case _ where ofToken.contains(code):
      return "Slack refuses the token (\(code)); copy it again from the app's settings"
    default: return nil
    }
  }
}

extension RESTError {
  var code: String? { if case .refused(_, let code, _) = self { code } else { nil } }

  func deliveryFailure(in place: SlackPlace? = nil) -> DeliveryFailure {
    let there = place.map { " in \($0.channel)" } ?? ""
    return deliveryFailure(at: "Slack") { code in
      switch code {
      case "not_in_channel": .forbidden("the bot is not\(there); invite it there with /invite (\(code))")
      case "is_archived": .forbidden("the channel is archived\(there) (\(code))")
      case "restricted_action", "restricted_action_read_only_channel", "cannot_dm_bot", "user_disabled":
        .forbidden("the workspace does not let the bot write\(there) (\(code))")
      case "channel_not_found": .notFound("the bot sees no channel\(there) (\(code)); invite it there with /invite")
      case _ where SlackError.problem(self) != nil:
        code == "missing_scope"
          ? .forbidden(SlackError.problem(self) ?? code) : .unauthorized(SlackError.problem(self) ?? code)
      default: nil
      }
    }
  }

  /// The failure in words.
  var words: String { deliveryFailure().wireError.message }
}
