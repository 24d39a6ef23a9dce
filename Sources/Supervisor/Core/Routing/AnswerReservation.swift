internal import RelayPipes
internal import RelayStore
internal import RelayWire

/// The key of an answer, stored while the agent still works on it: its words then go out without waiting for the disk,
/// and wherever this program ends, the next one knows what to look for.
struct AnswerReservation {
  let key: String
  /// Holds the words from before they are sent.
  let checkpoint: StreamCheckpoint
  /// The key is on the disk.
  var isStored = false
}

extension ConversationOutput {
  func reserveAnswer() {
    guard reservation == nil else { return }
    let record = delivery.reserve()
    guard let checkpoint = checkpoints.begin(record.key) else { return }
    reservation = AnswerReservation(key: record.key, checkpoint: checkpoint)
    nursery.add(on: EventLoop.shared) { [self, delivery] in
      if await delivery.record([record]) { await noteReserved(record.key) }
    }
  }

  private func noteReserved(_ key: String) {
    if reservation?.key == key {
      reservation?.isStored = true
    } else {
      // It was let go before it was stored.
      delivery.store.releaseOutboundSoon(key)
    }
  }

  /// Nothing is sent under it.
  func releaseReservation() {
    guard let reservation else { return }
    self.reservation = nil
    delivery.store.releaseOutboundSoon(reservation.key)
    checkpoints.remove(reservation.key)
  }

  /// Nil where the answer is to be recorded first.
  func takeReservation() -> AnswerReservation? {
    guard let reservation, reservation.isStored, delivery.holder.current != nil else { return nil }
    guard reservation.checkpoint.write(stream.source) else {
      // A part of these words is no beginning of the next.
      releaseReservation()
      return nil
    }
    self.reservation = nil
    return reservation
  }

  /// The first of a message that grows: what is stored is all that the next daemon needs, but where it takes longer.
  func sendGrowing(_ text: String, under reservation: AnswerReservation) async -> Delivery.Sent? {
    checkpoint = reservation.checkpoint
    let record = delivery.compose(text, role: .answer, streaming: true, key: reservation.key)
    let first = await delivery.tryNow(record)
    if first?.message == nil { _ = await delivery.record([record], superseding: reservation.key) }
    return await delivery.sendRecorded(record, first: first) { reservation.checkpoint.mark() }
  }

  /// Sends a whole answer while it is recorded.
  func sendWhole(
    _ text: String, under reservation: AnswerReservation
  ) async -> (isRecorded: Bool, sent: Delivery.Sent?) {
    let key = reservation.key
    let record = delivery.compose(text, role: .answer, key: key)
    async let recorded = delivery.record([record], superseding: key)
    let first = await delivery.tryNow(record)
    // It is shown: there is nothing to look for.
    if first?.message != nil { checkpoints.remove(key) }
    let isRecorded = await recorded
    checkpoints.remove(key)
    guard isRecorded else {
      // Nothing more is done about it, by the next daemon either.
      delivery.store.releaseOutboundSoon(key)
      return (false, first?.message.map { Delivery.Sent(key: key, message: $0) })
    }
    return (true, await delivery.sendRecorded(record, first: first))
  }
}
