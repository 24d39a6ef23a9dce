/**
 * Tells whether the turn that runs was asked for from a chat: only then do tool calls wait for approval.
 *
 * A message that the daemon sent makes the turn remote. What is typed while a remote turn runs (steering) leaves it remote; a
 * message that follows a finished answer begins a turn of its own.
 */
export class TurnRequester {
  isRemote = false;
  /** The assistant has finished: the next message begins a turn. */
  #isFinished = true;

  /** @param {boolean} isRemote */
  messageTaken(isRemote) {
    if (this.#isFinished) this.isRemote = isRemote;
    else if (isRemote) this.isRemote = true;
    this.#isFinished = false;
  }

  /** A message of another extension: it goes on with the turn that a chat asked for, also after a finished answer. */
  messageContinues() {
    this.#isFinished = false;
  }

  /** @param {string | undefined} stopReason */
  assistantEnded(stopReason) {
    this.#isFinished = stopReason !== "toolUse";
  }

  /** A chat has run a command of another extension, which may begin turns. */
  commandRun() {
    this.isRemote = true;
  }

  settled() {
    this.#isFinished = true;
    this.isRemote = false;
  }
}
