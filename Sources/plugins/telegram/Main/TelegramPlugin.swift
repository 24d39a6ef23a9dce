import PluginSDK
import Telegram

// The executable of the Telegram plugin. The messenger itself is in a library, which tests import.
@main extension TelegramMessenger {}
