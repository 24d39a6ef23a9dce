import PluginSDK
import Slack

// The executable of the Slack plugin. The messenger itself is in a library, which tests import.
@main extension SlackMessenger {}
