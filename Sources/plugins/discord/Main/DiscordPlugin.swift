import Discord
import PluginSDK

// The executable of the Discord plugin. The messenger itself is in a library, which tests import.
@main extension DiscordMessenger {}
