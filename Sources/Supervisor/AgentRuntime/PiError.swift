/// The reason why a command got no answer from pi.
package enum PiError: Error, Sendable, Equatable, CustomStringConvertible {
  case timedOut(command: String)
  case ended
  case unsendable(String)

  package var description: String {
    switch self {
    case .timedOut(let command): "the agent did not answer \(command) in time"
    case .ended: "the agent has exited"
    case .unsendable(let why): "the command could not be sent to the agent: \(why)"
    }
  }
}
