internal import Pairings
internal import PluginRuntime
internal import RelayModel
internal import RelayText
internal import RelayWire

extension PairingOffer {
  /// - Parameter expiry: how long the code counts.
  init(_ request: PairingCodes.Request, _ code: PairingCode, on link: PluginConnection, expiry: Duration) {
    let address = link.capabilities.pairingAddress(of: code.token)
    let writing = "to the bot on \(link.name), in a direct message: /pair \(code.digits)"
    var lines = ["Write \(writing)"]
    if let address {
      lines = ["Scan this with your phone, or open \(address), and press Start:"]
      lines += QRPicture(of: address)?.lines ?? []
      lines.append("Or write \(writing)")
    }
    lines.append("The code works once, within \(expiry.forPeople).")
    self.init(
      pairing: request.id, messenger: link.name, code: code.digits, link: address, lines: lines,
      expiresInSeconds: Int(expiry.components.seconds))
  }
}
