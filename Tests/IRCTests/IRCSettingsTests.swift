import PluginSDK
import Testing

@testable import IRC

@Suite struct IRCSettingsTests {
  @Test(arguments: [[:], ["server": ""], ["server": "irc://irc.libera.chat"]] as [JSONValue])
  func `a server that is missing or no host name is refused with an example`(config: JSONValue) {
    #expect(throws: ConfigurationProblems(path: "server", "must be a host name, as irc.libera.chat")) {
      try IRCSettings(checked: config)
    }
  }
}
