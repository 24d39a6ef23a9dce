internal import ControlServer
internal import MessageRouting

extension SessionCommands: SessionService {}
extension SessionFeed: SessionEventFeed {}
