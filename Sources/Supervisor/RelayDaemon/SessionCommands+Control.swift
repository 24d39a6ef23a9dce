internal import ControlServer
internal import ProgramSessions

extension SessionCommands: SessionService {}
extension SessionFeed: SessionEventFeed {}
