import RelayWire
import Testing

@testable import TerminalChat

@Suite struct ScriptTurnsTests {
  private var turns = ScriptTurns()

  @Test mutating func `a turn lasts until its message is settled`() {
    turns.begin("1")
    #expect(!turns.isOver("1") && turns.isOpen)
    turns.settle("1", .answered)
    #expect(turns.isOver("1") && !turns.isOpen)
    #expect(turns.lastOutcome == .answered && turns.outcome(of: "1") == .answered && !turns.hasFailed)
  }

  @Test mutating func `a message that is settled before its turn begins needs no wait`() {
    turns.settle("1", .failed)
    turns.begin("1")
    #expect(turns.isOver("1") && turns.hasFailed)
  }

  @Test mutating func `a question ends the turn, and its answer both turns`() {
    turns.begin("1")
    turns.ask("Which colour?", id: "q")
    #expect(turns.isOver("1") && turns.isOpen)
    turns.begin("2")
    #expect(!turns.isOver("2"))
    turns.closeQuestion("q")
    turns.settle("2", .handled)
    #expect(!turns.isOver("2"))
    turns.settle("1", .answered)
    #expect(turns.isOver("2") && turns.question == nil)
  }

  @Test mutating func `a line that was no answer leaves the question to the next line`() {
    turns.begin("1")
    turns.ask("Which colour?", id: "q")
    turns.begin("2")
    turns.noteNotice()
    #expect(turns.isOver("2"))
    #expect(turns.question?.text == "Which colour?")
  }

  @Test mutating func `an open question that outlives its answer's end is the script's again`() {
    turns.begin("1")
    turns.ask("Which colour?", id: "q")
    turns.begin("2")
    turns.settle("2", .handled)
    #expect(turns.isOver("2") && turns.isOpen)
  }

  @Test mutating func `messages that nobody knows any more have failed`() {
    turns.begin("1")
    turns.abandon()
    #expect(turns.isOver("1") && turns.hasFailed && turns.lastOutcome == .failed)
  }
}
