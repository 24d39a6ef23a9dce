internal import PluginSDK
internal import RelayJSON

/// The app as Slack makes it "From a manifest".
///
/// https://docs.slack.dev/reference/app-manifest
enum SlackManifest {
  /// The scopes that the bot needs.
  static let scopes = [
    "app_mentions:read", "channels:history", "channels:read", "chat:write", "commands", "files:read", "files:write",
    "groups:history", "groups:read", "im:history", "im:read", "im:write", "mpim:history", "reactions:write",
    "users:read",
  ]

  private static let events = [
    "app_mention", "channel_archive", "channel_deleted", "channel_unarchive", "group_archive", "group_deleted",
    "group_unarchive", "message.channels", "message.groups", "message.im", "message.mpim", "user_change",
  ]

  static var json: String {
    let shortcuts: JSONValue = [
      shortcut("Sessions", "global", SlackInteraction.commandPrefix + "sessions", "Shows the sessions of pi"),
      shortcut("Ask pi about this", "message", SlackInteraction.askShortcut, "Hands the message to the agent"),
    ]
    let manifest: JSONValue = [
      "display_information": ["name": "pi", "description": "Talk to your pi sessions"],
      "features": [
        "app_home": ["messages_tab_enabled": true, "messages_tab_read_only_enabled": false],
        "bot_user": ["display_name": "pi", "always_online": true], "shortcuts": shortcuts,
        "slash_commands": [
          [
            "command": "/pi", "description": "Commands of pi-relay", "usage_hint": "help | status | sessions | use …",
            "should_escape": false,
          ]
        ],
      ],
      "oauth_config": ["scopes": ["bot": texts(scopes)]],
      "settings": [
        "event_subscriptions": ["bot_events": texts(events)], "interactivity": ["is_enabled": true],
        "org_deploy_enabled": false, "socket_mode_enabled": true, "token_rotation_enabled": false,
      ],
    ]
    return String(decoding: JSONCoding.encode(manifest), as: UTF8.self)
  }

  private static func shortcut(_ name: String, _ type: String, _ id: String, _ description: String) -> JSONValue {
    ["name": .string(name), "type": .string(type), "callback_id": .string(id), "description": .string(description)]
  }

  private static func texts(_ list: [String]) -> JSONValue { .array(list.map { .string($0) }) }
}
