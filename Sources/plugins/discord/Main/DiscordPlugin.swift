import Discord
import PluginSDK

// The program is the messenger; its code stands apart so that tests can import it.
@main extension DiscordMessenger {}
