import RelayModel
import Testing

@testable import Approvals

private let place = ConversationKey(instance: "m", conversation: "c")
private let ann = Requester(conversation: place, person: "ann")

private func pending(session: Bool = true, persistent: Bool = true) -> PendingApproval {
  PendingApproval(
    id: "a_1", session: "s", requester: ann, fingerprint: "f",
    offer: ApprovalOffer(session: session, persistent: persistent), expires: 100)
}

@Suite struct PendingApprovalTests {
  private static let decisions = ApprovalDecision.allCases
  private static let ends: [PendingApproval.Event] =
    decisions.map { .decided($0, by: ann) } + [.timeIsOver, .cancelled("why"), .failed("why")]

  private static func state(after event: PendingApproval.Event) -> (PendingApproval.State, ApprovalEvent.Kind) {
    switch event {
    case .decided(.approveOnce, _): (.approved(.approveOnce), .approvedOnce)
    case .decided(.approveForSession, _): (.approved(.approveForSession), .approvedForSession)
    case .decided(.approvePersistently, _): (.approved(.approvePersistently), .persistentGrantCreated)
    case .decided(.deny, _): (.denied, .denied)
    case .timeIsOver: (.expired, .expired)
    case .cancelled(let why): (.cancelled(why), .cancelled)
    case .failed(let why): (.failed(why), .failed)
    }
  }

  @Test(arguments: ends) func `an open approval ends with each event`(event: PendingApproval.Event) {
    var approval = pending()
    let (state, kind) = Self.state(after: event)
    #expect(approval.take(event, now: 99) == .ended(kind))
    #expect(approval.state == state)
    let isApproval = if case .decided(let decision, _) = event { decision != .deny } else { false }
    #expect(approval.state.allows == isApproval)
  }

  @Test(arguments: ends, ends)
  func `an approval that has ended does not change`(first: PendingApproval.Event, second: PendingApproval.Event) {
    var approval = pending()
    _ = approval.take(first, now: 99)
    let state = approval.state
    let reaction = approval.take(second, now: 99)
    if case .decided = second {
      #expect(reaction == .refused(.tooLate(state)))
    } else {
      #expect(reaction == .ignored)
    }
    #expect(approval.state == state)
  }

  @Test(arguments: decisions) func `only the requester decides, in the same conversation`(decision: ApprovalDecision) {
    let others = [
      Requester(conversation: place, person: "bob"),
      Requester(conversation: ConversationKey(instance: "m", conversation: "d"), person: "ann"),
      Requester(conversation: ConversationKey(instance: "n", conversation: "c"), person: "ann"),
    ]
    for other in others {
      var approval = pending()
      #expect(approval.take(.decided(decision, by: other), now: 0) == .refused(.notRequester))
      #expect(approval.state == .asked)
    }
  }

  @Test(arguments: decisions) func `a decision after the time has no effect`(decision: ApprovalDecision) {
    var approval = pending()
    #expect(approval.take(.decided(decision, by: ann), now: 100) == .refused(.tooLate(.expired)))
    #expect(approval.state == .asked)
    #expect(approval.take(.timeIsOver, now: 100) == .ended(.expired))
  }

  @Test func `a decision that is not offered has no effect`() {
    var approval = pending(session: false, persistent: false)
    #expect(approval.take(.decided(.approveForSession, by: ann), now: 0) == .refused(.notOffered))
    #expect(approval.take(.decided(.approvePersistently, by: ann), now: 0) == .refused(.notOffered))
    #expect(approval.state == .asked)
    #expect(ApprovalOffer(session: false, persistent: false).decisions == [.approveOnce, .deny])
    #expect(ApprovalOffer(session: true, persistent: true).decisions == Self.decisions)
  }

  @Test(arguments: [
    ("relay approval approve a_x1", ApprovalDecision.approveOnce), ("relay approve a_x1", .approveOnce),
    ("/relay approval approve-session a_x1", .approveForSession),
    (" Relay  APPROVE-PERSISTENT A_X1\n", .approvePersistently),
    ("relay deny a_x1", .deny),
  ])
  func `a decision in words is read`(text: String, decision: ApprovalDecision) {
    #expect(ApprovalReply(text) == ApprovalReply(decision, id: "a_x1"))
    #expect(ApprovalReply(ApprovalReply(decision, id: "a_x1").text) == ApprovalReply(decision, id: "a_x1"))
  }

  @Test(arguments: [
    "relay approve", "relay approve task-1", "approve a_x1", "please relay approve a_x1", "relay approve a_x1 now",
    "relay approval a_x1", "relay approval approval approve a_x1", "relay permit a_x1", "//relay approve a_x1", "",
  ])
  func `other words are no decision`(text: String) { #expect(ApprovalReply(text) == nil) }
}

@Suite struct ApprovalGrantTests {
  private func grant(_ scope: ApprovalGrant.Scope, _ requester: Requester = ann) -> ApprovalGrant {
    ApprovalGrant(
      id: "g", scope: scope, fingerprint: "f", requester: requester, summary: "", createdAt: 10, expiresAt: 20)
  }

  @Test func `a grant of a session covers the same call of the same person there, in its time`() {
    let grant = grant(.session("s"))
    #expect(grant.covers("f", by: ann, in: "s", now: 10) && grant.covers("f", by: ann, in: "s", now: 19.9))
    #expect(!grant.covers("g", by: ann, in: "s", now: 15))
    #expect(!grant.covers("f", by: ann, in: "t", now: 15))
    #expect(!grant.covers("f", by: Requester(conversation: place, person: "bob"), in: "s", now: 15))
    let elsewhere = ConversationKey(instance: "m", conversation: "d")
    #expect(!grant.covers("f", by: Requester(conversation: elsewhere, person: "ann"), in: "s", now: 15))
    #expect(!grant.covers("f", by: ann, in: "s", now: 20))
    #expect(!grant.covers("f", by: ann, in: "s", now: 9.9), "the clock was set back")
  }

  @Test func `a persistent grant covers every session`() {
    #expect(grant(.persistent).covers("f", by: ann, in: "t", now: 15))
    #expect(!grant(.persistent).covers("f", by: ann, in: "t", now: 20))
  }

  @Test func `grants end with their time, and when their conversation turns to another session`() {
    var grants = ApprovalGrants()
    grants.add(grant(.session("s")))
    grants.add(grant(.session("t")))
    #expect(grants.grant(for: "f", by: ann, in: "s", now: 15) == grant(.session("s")))
    #expect(grants.revoke(by: place, except: "t") == [grant(.session("s"))])
    #expect(grants.grant(for: "f", by: ann, in: "s", now: 15) == nil)
    #expect(grants.revoke(by: place, except: "t").isEmpty)
    #expect(grants.revoke(by: ConversationKey(instance: "m", conversation: "d"), except: nil).isEmpty)
    #expect(grants.revoke(by: place, except: nil) == [grant(.session("t"))])
    grants.add(grant(.session("s")))
    #expect(grants.grant(for: "f", by: ann, in: "s", now: 20) == nil && grants.count == 0)
  }
}
