import IRC
import PluginSDK

// The executable of the IRC plugin. The messenger itself is in a library, which tests import.
@main extension IRCMessenger {}
