import IRC
import PluginSDK

// The program is the messenger; its code is in another target so that tests can import it.
@main extension IRCMessenger {}
