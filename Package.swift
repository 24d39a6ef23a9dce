// swift-tools-version: 6.2
import PackageDescription

// One list of settings for every Swift target: Swift 6 mode, and a warning is an error.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "pi-relay",
  products: [
    .library(name: "PluginSDK", targets: ["PluginSDK"]),
    .library(name: "PluginTestKit", targets: ["PluginTestKit"]),
    .library(name: "MessengerKit", targets: ["MessengerHTTP", "MessengerKit"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
  ],
  targets: [
    // MARK: SDK
    .target(name: "CLinux", path: "Sources/SDK/CLinux"),
    // JSON values and their text, and lines in a stream of bytes: nothing of the protocol.
    .target(name: "RelayJSON", path: "Sources/SDK/JSON", swiftSettings: strict),
    .target(name: "RelayWire", dependencies: ["RelayJSON"], path: "Sources/SDK/Wire", swiftSettings: strict),
    // Locks, mailboxes, scopes of tasks, time limits and the errors of system calls: nothing that reads or writes.
    .target(
      name: "RelayConcurrency",
      dependencies: [.product(name: "DequeModule", package: "swift-collections")],
      path: "Sources/SDK/RelayConcurrency", swiftSettings: strict),
    // Lines and JSON-RPC over pipes and sockets, on one thread with epoll.
    .target(
      name: "RelayTransport",
      dependencies: [
        "CLinux", "RelayConcurrency", "RelayJSON", "RelayWire",
        .product(name: "DequeModule", package: "swift-collections"),
      ],
      path: "Sources/SDK/RelayTransport", swiftSettings: strict),
    .systemLibrary(
      name: "CCurl", path: "Sources/SDK/CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CCrypto", path: "Sources/SDK/CCrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CWslay", path: "Sources/SDK/CWslay", providers: [.apt(["libwslay-dev"])]),
    .target(
      name: "RelayHTTP",
      dependencies: ["CCrypto", "CCurl", "CWslay", "RelayConcurrency", "RelayJSON", "RelayTransport", "RelayWire"],
      path: "Sources/SDK/HTTP",
      swiftSettings: strict),
    .target(
      name: "PluginSDK", dependencies: ["RelayConcurrency", "RelayJSON", "RelayTransport", "RelayWire"],
      path: "Sources/SDK/Plugin",
      swiftSettings: strict),
    .target(
      name: "PluginTestKit", dependencies: ["CLinux", "PluginSDK", "RelayTransport"], path: "Sources/SDK/TestKit",
      swiftSettings: strict),
    // Behaviours of every chat service, without any network.
    .target(
      name: "MessengerKit", dependencies: ["PluginSDK", "RelayConcurrency", "RelayTransport", "RelayWire"],
      path: "Sources/SDK/MessengerKit",
      swiftSettings: strict),
    // Parts for messengers that ask their service over HTTP: apart, so that others do without libcurl.
    .target(
      name: "MessengerHTTP", dependencies: ["MessengerKit", "PluginSDK", "RelayHTTP"],
      path: "Sources/SDK/MessengerHTTP", swiftSettings: strict),
    // MARK: Supervisor
    .target(
      name: "PiRPC", dependencies: ["CLinux", "RelayJSON", "RelayWire"], path: "Sources/Supervisor/PiRPC",
      swiftSettings: strict),
    // Which tool calls wait for a person, and how such a call ends: pure values without clock, store or process.
    .target(
      name: "Approvals", dependencies: ["RelayJSON", "RelayModel", "RelayText", "RelayWire"],
      path: "Sources/Supervisor/Approvals",
      swiftSettings: strict),
    .systemLibrary(
      name: "CQREncode", path: "Sources/Supervisor/CQREncode", pkgConfig: "libqrencode",
      providers: [.apt(["libqrencode-dev"])]),
    // Codes that admit people, their throttle, what a pairing allows, and the picture of a code: pure values.
    .target(
      name: "Pairings", dependencies: ["CQREncode", "RelayModel", "RelayWire"], path: "Sources/Supervisor/Pairings",
      swiftSettings: strict),
    .systemLibrary(
      name: "CYAML", path: "Sources/Supervisor/CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(
      name: "CPCRE2", path: "Sources/Supervisor/CPCRE2", pkgConfig: "libpcre2-8", providers: [.apt(["libpcre2-dev"])]),
    .target(
      name: "RelayConfig",
      dependencies: ["Approvals", "CYAML", "RelayConcurrency", "RelayJSON", "RelayText", "RelayWire"],
      path: "Sources/Supervisor/Config",
      swiftSettings: strict),
    .systemLibrary(
      name: "CSQLite", path: "Sources/Supervisor/CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .target(
      name: "RelayStore",
      dependencies: [
        "CLinux", "CSQLite", "RelayConcurrency", "RelayJSON", "RelayModel", "RelayTransport", "RelayWire",
        .product(name: "DequeModule", package: "swift-collections"), .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Supervisor/Store", swiftSettings: strict),
    .target(
      name: "RelayText",
      dependencies: [
        "CPCRE2", "RelayConcurrency", "RelayJSON", "RelayTransport", "RelayWire",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Supervisor/RelayText", swiftSettings: strict),
    .target(
      name: "RelayLogging",
      dependencies: [
        "RelayConcurrency", "RelayModel", "RelayTransport", .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Supervisor/RelayLogging", swiftSettings: strict),
    .target(
      name: "RelayHome", dependencies: ["RelayConcurrency", "RelayWire"], path: "Sources/Supervisor/RelayHome",
      swiftSettings: strict),
    .target(
      name: "RelayModel", dependencies: ["RelayJSON", "RelayWire"], path: "Sources/Supervisor/RelayModel",
      swiftSettings: strict),
    .target(
      name: "ProcessSupervision",
      dependencies: [
        "CLinux", "RelayConcurrency", "RelayJSON", "RelayTransport", "RelayWire",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Supervisor/ProcessSupervision", swiftSettings: strict),
    .target(
      name: "AgentRuntime",
      dependencies: [
        "BridgeProtocol", "PiRPC", "ProcessSupervision", "RelayConcurrency", "RelayConfig", "RelayHome", "RelayJSON",
        "RelayLogging",
        "RelayText",
        "RelayTransport", "RelayWire",
      ], path: "Sources/Supervisor/AgentRuntime", swiftSettings: strict),
    // The server of session bridges: a socket, a registry file and a file of events for each agent's process.
    .target(
      name: "Bridge",
      dependencies: [
        "AgentRuntime", "BridgeProtocol", "CLinux", "PiRPC", "ProcessSupervision", "RelayConcurrency", "RelayJSON",
        "RelayTransport",
        "RelayWire", .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
      ], path: "Sources/Supervisor/Bridge", swiftSettings: strict),
    // The requests of the extension that an agent runs with: messages and files for people, new sessions, approvals.
    .target(
      name: "AgentExtension", dependencies: ["RelayConcurrency", "RelayJSON", "RelayTransport", "RelayWire"],
      path: "Sources/Supervisor/AgentExtension", swiftSettings: strict),
    // The pure values of a session: queue, run, states of the agent, questions, phase; with unit tests and no process.
    .target(
      name: "SessionStates",
      dependencies: [
        "AgentRuntime", "Approvals", "PiRPC", "ProcessSupervision", "RelayJSON", "RelayModel", "RelayText", "RelayWire",
        .product(name: "DequeModule", package: "swift-collections"),
      ], path: "Sources/Supervisor/SessionStates", swiftSettings: strict),
    .target(
      name: "AgentSessions",
      dependencies: [
        "AgentRuntime", "BridgeProtocol", "PiRPC", "ProcessSupervision", "RelayConcurrency", "RelayConfig", "RelayHome",
        "RelayLogging",
        "RelayModel", "RelayStore", "RelayText", "RelayTransport", "RelayWire", "SessionStates",
        .product(name: "Logging", package: "swift-log"),
      ], path: "Sources/Supervisor/AgentSessions", swiftSettings: strict),
    // All sessions of the daemon: which exist, asleep or awake, their names, and which a conversation may address.
    .target(
      name: "SessionCatalog",
      dependencies: [
        "AgentRuntime", "AgentSessions", "Pairings", "ProcessSupervision", "RelayConcurrency", "RelayConfig",
        "RelayLogging",
        "RelayModel", "RelayStore", "RelayText", "RelayTransport", "SessionStates",
        .product(name: "Logging", package: "swift-log"),
      ], path: "Sources/Supervisor/SessionCatalog", swiftSettings: strict),
    .target(
      name: "PluginRuntime",
      dependencies: [
        "CLinux", "ProcessSupervision", "RelayConcurrency", "RelayConfig", "RelayHome", "RelayJSON", "RelayLogging",
        "RelayModel",
        "RelayStore", "RelayText", "RelayTransport", "RelayWire", .product(name: "Logging", package: "swift-log"),
      ], path: "Sources/Supervisor/PluginRuntime", swiftSettings: strict),
    .target(
      name: "PluginConformance",
      dependencies: [
        "ProcessSupervision", "RelayConcurrency", "RelayHome", "RelayJSON", "RelayTransport", "RelayWire",
      ],
      path: "Sources/Supervisor/PluginConformance", swiftSettings: strict),
    // Decides about the tool calls of sessions: rules, grants, the question to the requester, the audit.
    .target(
      name: "ToolApprovals",
      dependencies: [
        "AgentSessions", "Approvals", "RelayConcurrency", "RelayConfig", "RelayLogging", "RelayModel", "RelayStore",
        "RelayText", "RelayWire", "SessionCatalog", "SessionStates", .product(name: "Logging", package: "swift-log"),
      ], path: "Sources/Supervisor/ToolApprovals", swiftSettings: strict),
    // Sends to one conversation, each recorded, tried again and settled, with no knowledge of sessions.
    .target(
      name: "MessageDelivery",
      dependencies: [
        "PluginRuntime", "RelayConcurrency", "RelayConfig", "RelayLogging", "RelayModel", "RelayStore",
        "RelayTransport", "RelayWire", .product(name: "Logging", package: "swift-log"),
      ], path: "Sources/Supervisor/MessageDelivery", swiftSettings: strict),
    // Asks the formatter and the attachments service, and does without while they are away; knows no sessions.
    .target(
      name: "ContentServices",
      dependencies: [
        "MessageDelivery", "PluginRuntime", "RelayConcurrency", "RelayHome", "RelayLogging", "RelayText",
        "RelayTransport", "RelayWire", .product(name: "Logging", package: "swift-log"),
      ], path: "Sources/Supervisor/ContentServices", swiftSettings: strict),
    // Shows a session to the conversations that watch it: answers as they grow, tools, notices, questions. Knows no routing.
    .target(
      name: "Conversations",
      dependencies: [
        "ContentServices", "MessageDelivery", "PiRPC", "PluginRuntime", "RelayConcurrency",
        "RelayConfig", "RelayJSON", "RelayModel", "RelayStore", "RelayText", "RelayTransport", "RelayWire",
        "SessionStates",
        .product(name: "DequeModule", package: "swift-collections"), .product(name: "Logging", package: "swift-log"),
      ], path: "Sources/Supervisor/Conversations", swiftSettings: strict),
    // The commands that people type, one file each, behind `ChatCommand`.
    .target(
      name: "ChatCommands",
      dependencies: [
        "AgentRuntime", "AgentSessions", "Pairings", "PiRPC", "ProcessSupervision", "RelayConcurrency", "RelayConfig",
        "RelayModel",
        "RelayText", "RelayWire", "SessionCatalog", "SessionStates", .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Supervisor/ChatCommands", swiftSettings: strict),
    // The assistant's admission, retention and periodic check.
    .target(
      name: "Assistant",
      dependencies: [
        "AgentRuntime", "AgentSessions", "PiRPC", "RelayConcurrency", "RelayConfig", "RelayHome", "RelayLogging",
        "RelayModel", "RelayWire", "SessionCatalog", "SessionStates", .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Supervisor/Assistant", swiftSettings: strict),
    // A conversation's arrivals and output, the session that it talks to, and the way of a prompt into a session.
    .target(
      name: "ConversationSessions",
      dependencies: [
        "AgentSessions", "Assistant", "ChatCommands", "ContentServices", "Conversations", "MessageDelivery", "Pairings",
        "PiRPC",
        "PluginRuntime", "RelayConcurrency", "RelayConfig", "RelayLogging", "RelayModel", "RelayStore", "RelayText",
        "RelayTransport", "RelayWire", "SessionCatalog", "SessionStates",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Supervisor/ConversationSessions", swiftSettings: strict),
    // The operations of programs and agents on sessions: messages, events, answers, terminals, texts and files for a requester.
    .target(
      name: "ProgramSessions",
      dependencies: [
        "AgentExtension", "AgentRuntime", "AgentSessions", "CLinux", "ChatCommands", "ConversationSessions",
        "Conversations",
        "MessageDelivery", "PiRPC", "PluginRuntime", "RelayConcurrency", "RelayConfig", "RelayHome", "RelayJSON",
        "RelayLogging",
        "RelayModel", "RelayStore", "RelayText", "RelayWire", "SessionCatalog", "SessionStates",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Supervisor/ProgramSessions", swiftSettings: strict),
    // Authorises, stores and dispatches arrivals, and recovers those of an earlier daemon.
    .target(
      name: "MessageRouting",
      dependencies: [
        "AgentSessions", "Approvals", "Assistant", "ChatCommands", "ContentServices", "ConversationSessions",
        "Conversations", "MessageDelivery", "Pairings", "PiRPC", "PluginRuntime", "ProgramSessions", "RelayConcurrency",
        "RelayConfig", "RelayHome", "RelayJSON", "RelayLogging", "RelayModel", "RelayStore", "RelayText",
        "RelayTransport",
        "RelayWire", "SessionCatalog", "SessionStates", "ToolApprovals",
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Supervisor/MessageRouting", swiftSettings: strict),
    // The control socket and its messages.
    .target(
      name: "ControlServer",
      dependencies: [
        "AgentExtension", "BridgeProtocol",
        "CLinux", "PluginRuntime", "RelayConcurrency", "RelayConfig", "RelayHome", "RelayJSON", "RelayLogging",
        "RelayModel",
        "RelayTransport", "RelayWire", .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Supervisor/ControlServer", swiftSettings: strict),
    // The hand-over to another program in the same process, composed of each part's own.
    .target(
      name: "LiveUpgrade",
      dependencies: [
        "AgentRuntime", "AgentSessions", "CLinux", "ControlServer", "MessageRouting", "PluginRuntime",
        "ProcessSupervision", "RelayConcurrency", "RelayHome", "RelayJSON", "RelayStore", "RelayTransport", "RelayWire",
        "SessionCatalog", .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Supervisor/LiveUpgrade", swiftSettings: strict),
    // Makes the daemon from its parts: the order of start and end, and reload.
    .target(
      name: "RelayDaemon",
      dependencies: [
        "AgentExtension", "AgentRuntime", "AgentSessions", "Approvals", "Assistant", "Bridge", "BridgeProtocol",
        "CLinux", "ChatCommands", "ContentServices", "ControlServer", "LiveUpgrade", "MessageRouting", "PiRPC",
        "PluginRuntime",
        "ProcessSupervision", "ProgramSessions", "RelayConcurrency", "RelayConfig", "RelayHome", "RelayJSON",
        "RelayLogging",
        "RelayModel", "RelayStore", "RelayText", "RelayTransport", "RelayWire", "SessionCatalog", "SessionStates",
        "ToolApprovals", .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Supervisor/RelayDaemon", swiftSettings: strict),
    .target(
      name: "CEdit", path: "Sources/Supervisor/CEdit", linkerSettings: [.linkedLibrary("edit")]),
    // The chat in a terminal or a pipe: a messenger attached to the control socket. Starts and ends no daemon.
    .target(
      name: "TerminalChat",
      dependencies: [
        "CEdit", "CLinux", "ControlServer", "Formatter", "RelayConcurrency", "RelayHome", "RelayJSON", "RelayTransport",
        "RelayWire",
      ],
      path: "Sources/Supervisor/TerminalChat", swiftSettings: strict),
    .executableTarget(
      name: "pi-relayd",
      dependencies: [
        "AgentRuntime", "CLinux", "ControlServer", "LiveUpgrade", "PluginConformance", "PluginRuntime",
        "ProcessSupervision", "RelayConcurrency", "RelayConfig", "RelayDaemon", "RelayHome", "RelayJSON",
        "RelayLogging",
        "RelayModel", "RelayStore", "RelayText", "RelayTransport", "RelayWire", "TerminalChat",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Sources/Supervisor/Daemon", swiftSettings: strict),
    .executableTarget(name: "pi-relay-guardian", dependencies: ["CLinux"], path: "Sources/guardian"),
    .executableTarget(
      name: "pi-relay-toml", dependencies: [.product(name: "TOMLKit", package: "TOMLKit")], path: "Sources/toml",
      swiftSettings: strict),
    // MARK: Bridge
    // The protocol of bridge sockets: requests, answers, events and their summaries, history; no descriptors.
    .target(
      name: "BridgeProtocol",
      dependencies: ["RelayJSON", "RelayWire", .product(name: "DequeModule", package: "swift-collections")],
      path: "Sources/bridge/Protocol", swiftSettings: strict),
    // Finds a session's bridge and talks to it, waiting: for programs that do nothing else.
    .target(
      name: "BridgeClient", dependencies: ["BridgeProtocol", "CLinux", "RelayJSON", "RelayWire"],
      path: "Sources/bridge/Core",
      swiftSettings: strict),
    .executableTarget(
      name: "pi-bridge",
      dependencies: [
        "BridgeClient", "BridgeProtocol", "RelayJSON", "RelayWire",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], path: "Sources/bridge/Main", swiftSettings: strict),
    // MARK: Plugins
    .systemLibrary(name: "CMarkdown", path: "Sources/plugins/CMarkdown", providers: [.apt(["libmd4c-dev"])]),
    .target(
      name: "Formatter", dependencies: ["CMarkdown", "RelayJSON", "RelayWire"], path: "Sources/plugins/formatter/Core",
      swiftSettings: strict),
    .executableTarget(
      name: "pi-relay-formatter", dependencies: ["Formatter", "PluginSDK"], path: "Sources/plugins/formatter/Main",
      swiftSettings: strict),
    .target(
      name: "Attachments", dependencies: ["RelayConcurrency", "RelayHTTP", "RelayWire"],
      path: "Sources/plugins/attachments/Core",
      swiftSettings: strict),
    .executableTarget(
      name: "pi-relay-attachments", dependencies: ["Attachments", "PluginSDK"],
      path: "Sources/plugins/attachments/Main", swiftSettings: strict),
    .systemLibrary(name: "CZlib", path: "Sources/SDK/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    // Discord's gateway and HTTP interface, within their limits.
    .target(
      name: "DiscordAPI",
      dependencies: [
        "CZlib", "MessengerHTTP", "MessengerKit", "PluginSDK", "RelayConcurrency", "RelayHTTP", "RelayJSON",
        "RelayTransport", "RelayWire",
      ],
      path: "Sources/plugins/discord/API", swiftSettings: strict),
    .target(
      name: "Discord",
      dependencies: [
        "DiscordAPI", "MessengerHTTP", "MessengerKit", "PluginSDK", "RelayConcurrency", "RelayHTTP", "RelayJSON",
        "RelayTransport",
        "RelayWire",
      ],
      path: "Sources/plugins/discord/Core", swiftSettings: strict),
    .executableTarget(
      name: "pi-relay-discord", dependencies: ["Discord", "PluginSDK"], path: "Sources/plugins/discord/Main",
      swiftSettings: strict),
    .target(
      name: "IRC", dependencies: ["MessengerKit", "PluginSDK", "RelayConcurrency", "RelayHTTP", "RelayTransport"],
      path: "Sources/plugins/irc/Core", swiftSettings: strict),
    .executableTarget(
      name: "pi-relay-irc", dependencies: ["IRC", "PluginSDK"], path: "Sources/plugins/irc/Main",
      swiftSettings: strict),
    .target(
      name: "Slack",
      dependencies: [
        "MessengerHTTP", "MessengerKit", "PluginSDK", "RelayConcurrency", "RelayHTTP", "RelayJSON", "RelayTransport",
        "RelayWire",
      ],
      path: "Sources/plugins/slack/Core", swiftSettings: strict),
    .executableTarget(
      name: "pi-relay-slack", dependencies: ["PluginSDK", "Slack"], path: "Sources/plugins/slack/Main",
      swiftSettings: strict),
    // MARK: Demo agent
    .target(
      name: "DemoAgent", dependencies: ["CLinux", "RelayConcurrency", "RelayJSON", "RelayTransport", "RelayWire"],
      path: "Sources/demo-agent/Core",
      swiftSettings: strict),
    .executableTarget(
      name: "pi-relay-demo-agent", dependencies: ["DemoAgent", "RelayJSON", "RelayTransport", "RelayWire"],
      path: "Sources/demo-agent/Main", swiftSettings: strict),
    // MARK: Benchmarks
    .executableTarget(
      name: "pi-relay-bench",
      dependencies: [
        "PiRPC", "RelayConcurrency", "RelayJSON", "RelayModel", "RelayStore", "RelayTransport", "RelayWire",
      ],
      path: "Benchmarks/reader",
      swiftSettings: strict),
    // MARK: Tests
    .executableTarget(name: "splice", path: "Tests/Fixtures/splice"),
    .executableTarget(name: "misbehaving-child", path: "Tests/Fixtures/misbehaving-child"),
    .target(name: "RunGuard", dependencies: ["CLinux"], path: "Tests/RunGuard"),
    .target(
      name: "TestSupport",
      dependencies: [
        "CLinux", "ControlServer", "ProcessSupervision", "RelayConcurrency", "RelayHome", "RelayJSON", "RelayLogging",
        "RelayModel",
        "RelayTransport", "RelayWire", "RunGuard", .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/TestSupport", swiftSettings: strict),
    .target(
      name: "Drills",
      dependencies: [
        "ControlServer", "ProcessSupervision", "RelayConcurrency", "RelayHome", "RelayJSON", "RelayModel", "RelayStore",
        "RelayTransport", "RelayWire", "TestSupport",
      ],
      path: "Tests/Drills/Core",
      swiftSettings: strict),
    .executableTarget(
      name: "pi-relay-drill",
      dependencies: ["Drills", "TestSupport", .product(name: "ArgumentParser", package: "swift-argument-parser")],
      path: "Tests/Drills/Main", swiftSettings: strict),
    .testTarget(
      name: "DrillTests",
      dependencies: [
        "ControlServer", "Drills", "ProcessSupervision", "RelayConcurrency", "RelayHome", "RelayModel",
        "RelayStore", "RelayTransport", "RelayWire", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "BridgeProtocolTests", dependencies: ["BridgeProtocol", "RelayJSON", "RelayWire"], swiftSettings: strict),
    .testTarget(
      name: "BridgeClientTests",
      dependencies: [
        "BridgeClient", "BridgeProtocol", "CLinux", "ProcessSupervision", "RelayConcurrency", "RelayJSON",
        "RelayTransport",
        "RelayWire", "TestSupport", "pi-bridge",
      ], swiftSettings: strict),
    .testTarget(name: "RelayModelTests", dependencies: ["RelayModel", "RelayWire"], swiftSettings: strict),
    .testTarget(
      name: "PairingsTests", dependencies: ["Pairings", "RelayModel"], swiftSettings: strict),
    .testTarget(
      name: "ApprovalsTests", dependencies: ["Approvals", "RelayJSON", "RelayModel", "RelayText", "RelayWire"],
      swiftSettings: strict
    ),
    .testTarget(
      name: "RelayTextTests",
      dependencies: ["PiRPC", "RelayConcurrency", "RelayJSON", "RelayText", "RelayWire", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "RelayLoggingTests",
      dependencies: [
        "RelayConcurrency", "RelayLogging", "RelayModel", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "RelayHomeTests",
      dependencies: ["ProcessSupervision", "RelayConcurrency", "RelayHome", "RelayTransport", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "ProcessSupervisionTests",
      dependencies: [
        "CLinux", "PluginRuntime", "ProcessSupervision", "RelayConcurrency", "RelayJSON", "RelayLogging", "RelayText",
        "RelayTransport", "RelayWire", "TestSupport", "misbehaving-child",
      ], swiftSettings: strict),
    .testTarget(
      name: "AgentRuntimeTests",
      dependencies: [
        "AgentRuntime", "PiRPC", "ProcessSupervision", "RelayConcurrency", "RelayConfig", "RelayLogging", "RelayWire",
        "TestSupport",
      ], swiftSettings: strict),
    .testTarget(
      name: "AgentExtensionTests", dependencies: ["AgentExtension", "RelayConcurrency", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "BridgeTests",
      dependencies: [
        "AgentRuntime", "Bridge", "BridgeProtocol", "CLinux", "PiRPC", "ProcessSupervision", "RelayConcurrency",
        "RelayJSON", "RelayLogging", "RelayTransport", "RelayWire", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .testTarget(
      name: "SessionStatesTests",
      dependencies: [
        "AgentRuntime", "Approvals", "PiRPC", "ProcessSupervision", "RelayJSON", "RelayModel", "RelayStore",
        "RelayWire",
        "SessionStates", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "AgentSessionsTests",
      dependencies: [
        "AgentRuntime", "AgentSessions", "PiRPC", "RelayConcurrency", "RelayConfig", "RelayHome",
        "RelayLogging", "RelayModel", "RelayStore", "RelayTransport", "RelayWire", "SessionStates", "TestSupport",
        "pi-relay-demo-agent", .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .testTarget(
      name: "SessionCatalogTests",
      dependencies: [
        "AgentRuntime", "AgentSessions", "RelayConcurrency", "RelayConfig", "RelayHome", "RelayLogging", "RelayModel",
        "RelayStore", "RelayTransport", "SessionCatalog", "SessionStates", "TestSupport",
      ], swiftSettings: strict),
    .testTarget(
      name: "PluginRuntimeTests",
      dependencies: [
        "PluginRuntime", "ProcessSupervision", "RelayConcurrency", "RelayHome", "RelayJSON", "RelayLogging",
        "RelayModel",
        "RelayStore", "RelayTransport", "RelayWire", "TestSupport", "misbehaving-child", "splice",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .testTarget(
      name: "ChatCommandsTests",
      dependencies: [
        "AgentSessions", "ChatCommands", "PiRPC", "RelayConcurrency", "RelayConfig", "RelayJSON", "RelayModel",
        "RelayWire",
        "SessionCatalog",
      ], swiftSettings: strict),
    .testTarget(
      name: "AssistantTests",
      dependencies: [
        "AgentRuntime", "AgentSessions", "Assistant", "RelayConcurrency", "RelayConfig", "RelayHome", "RelayLogging",
        "RelayModel", "RelayStore", "RelayTransport", "SessionCatalog", "SessionStates", "TestSupport",
        "pi-relay-demo-agent",
      ], swiftSettings: strict),
    .testTarget(
      name: "MessageDeliveryTests",
      dependencies: [
        "MessageDelivery", "RelayConcurrency", "RelayConfig", "RelayJSON", "RelayModel", "RelayStore", "RelayTransport",
        "RelayWire",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "ContentServicesTests", dependencies: ["ContentServices", "RelayHome", "RelayWire", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "ConversationsTests",
      dependencies: [
        "Approvals", "Conversations", "MessageDelivery", "PiRPC", "RelayConcurrency", "RelayConfig", "RelayJSON",
        "RelayModel",
        "RelayStore", "RelayText", "RelayWire", "SessionStates", "TestSupport",
        .product(name: "DequeModule", package: "swift-collections"),
      ], swiftSettings: strict),
    .testTarget(
      name: "ConversationSessionsTests",
      dependencies: [
        "ContentServices", "ConversationSessions", "Conversations", "MessageDelivery", "PluginRuntime",
        "RelayConcurrency", "RelayConfig", "RelayHome", "RelayModel", "RelayStore", "RelayText", "RelayTransport",
        "RelayWire", "TestSupport",
      ], swiftSettings: strict),
    .testTarget(
      name: "ProgramSessionsTests",
      dependencies: [
        "Conversations", "PiRPC", "ProgramSessions", "RelayConcurrency", "RelayHome", "RelayJSON", "RelayModel",
        "RelayWire",
        "SessionStates", "TestSupport",
      ], swiftSettings: strict),
    .testTarget(
      name: "MessageRoutingTests",
      dependencies: [
        "AgentRuntime", "AgentSessions", "Approvals", "Assistant", "ContentServices", "ConversationSessions",
        "Conversations", "MessageDelivery", "MessageRouting", "PluginRuntime", "RelayConcurrency", "RelayConfig",
        "RelayHome", "RelayJSON", "RelayLogging", "RelayModel", "RelayStore", "RelayText", "RelayTransport",
        "RelayWire",
        "SessionCatalog", "SessionStates", "TestSupport", "ToolApprovals", "misbehaving-child", "splice",
        "pi-relay-demo-agent", "pi-relay-formatter", .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "ControlServerTests",
      dependencies: [
        "AgentExtension",
        "CLinux", "ControlServer", "PluginRuntime", "RelayConcurrency", "RelayHome", "RelayJSON", "RelayModel",
        "RelayTransport",
        "RelayWire", "TestSupport", .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: strict),
    .testTarget(
      name: "LiveUpgradeTests", dependencies: ["CLinux", "LiveUpgrade", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "TerminalChatTests",
      dependencies: [
        "CLinux", "ControlServer", "RelayConcurrency", "RelayJSON", "RelayTransport", "RelayWire", "TerminalChat",
        "TestSupport",
      ], swiftSettings: strict),
    .testTarget(
      name: "AttachmentsTests", dependencies: ["Attachments", "RelayWire", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "DiscordTests",
      dependencies: [
        "Discord", "DiscordAPI", "MessengerKit", "RelayConcurrency", "RelayJSON", "RelayWire", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "IRCTests",
      dependencies: ["IRC", "MessengerKit", "PluginSDK", "RelayConcurrency", "RelayTransport", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "MessengerKitTests",
      dependencies: [
        "MessengerHTTP", "MessengerKit", "PluginSDK", "PluginTestKit", "RelayConcurrency", "RelayJSON", "RelayWire",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(name: "PluginSDKTests", dependencies: ["PluginSDK", "PluginTestKit"], swiftSettings: strict),
    .testTarget(
      name: "RelayHTTPTests",
      dependencies: ["RelayConcurrency", "RelayHTTP", "RelayJSON", "RelayTransport", "RelayWire", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "DocumentationTests",
      dependencies: [
        "Approvals", "BridgeProtocol", "ControlServer", "PluginConformance", "ProcessSupervision", "RelayConcurrency",
        "RelayConfig", "RelayJSON", "RelayModel", "RelayTransport", "RelayWire", "TestSupport", "pi-relay-attachments",
        "pi-relay-demo-agent", "pi-relay-formatter", "pi-relay-guardian", "pi-relayd",
      ], swiftSettings: strict),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "CLinux", "ChatCommands", "ControlServer", "Drills", "MessageDelivery", "PluginConformance",
        "PluginRuntime", "ProcessSupervision", "RelayConcurrency", "RelayHome", "RelayJSON", "RelayModel", "RelayStore",
        "RelayTransport", "RelayWire", "TestSupport", "misbehaving-child", "splice", "pi-relay-attachments",
        "pi-relay-demo-agent", "pi-relay-discord", "pi-relay-formatter", "pi-relay-guardian", "pi-relay-irc",
        "pi-relay-slack", "pi-relayd",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "SlackTests",
      dependencies: [
        "MessengerKit", "PluginTestKit", "RelayConcurrency", "RelayJSON", "RelayWire", "Slack", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "FormatterTests", dependencies: ["Formatter", "RelayJSON", "RelayText", "RelayWire", "TestSupport"],
      swiftSettings: strict),
    .testTarget(name: "RelayJSONTests", dependencies: ["RelayJSON", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "RelayWireTests", dependencies: ["RelayJSON", "RelayWire", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "PiRPCTests", dependencies: ["PiRPC", "RelayJSON", "RelayWire", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "RelayConfigTests",
      dependencies: ["Approvals", "RelayConcurrency", "RelayConfig", "RelayJSON", "RelayWire"],
      swiftSettings: strict),
    .testTarget(
      name: "RelayStoreTests",
      dependencies: [
        "CSQLite", "RelayConcurrency", "RelayJSON", "RelayModel", "RelayStore", "RelayTransport", "RelayWire",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "RelayConcurrencyTests", dependencies: ["RelayConcurrency", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "RelayTransportTests",
      dependencies: ["CLinux", "RelayConcurrency", "RelayJSON", "RelayTransport", "RelayWire", "TestSupport"],
      swiftSettings: strict),
  ]
)
