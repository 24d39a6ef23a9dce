internal import ControlServer
internal import MessageRouting
internal import RelayModel
internal import RelayWire

extension PairingDesk: PairingService {
  static let notStored = WireError(
    .internalError, "the pairings count no more, but that could not be stored: they count again after a restart")

  func revoke(
    session: String?, messenger: String?, user: String?
  ) async throws(WireError) -> [Pairing] {
    let revoked = await revocation.revoke { pairing in
      (session == nil || pairing.session == session) && (user == nil || pairing.person == user)
        && messenger.map { MessengerName($0).names(pairing.conversation.instance) } ?? true
    }
    guard let revoked else { throw Self.notStored }
    return revoked
  }

  func untrust(_ person: String, on messenger: String) async throws(WireError) {
    if let obstacle = await revocation.untrust(person, on: messenger) { throw WireError(.invalidParams, obstacle) }
  }
}
