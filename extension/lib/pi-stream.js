import { DaemonError, NoAnswer } from "./rpc-connection.js";
import { LineSocket, fitsIntoLine } from "./line-socket.js";

/** The longest command, in bytes: a prompt carries its images. */
const longestCommand = 64 << 20;

/**
 * @typedef {(response: Record<string, any>) => void} Respond
 * @typedef {{ command(command: any, respond: Respond): void, closed(reason: string): void }} StreamReceiver
 */

/**
 * The connection on which this pi is to the daemon as a `pi --mode rpc` that the daemon has started: after the answer to
 * `session.attach` each line is a command of the daemon, or a response or an event of pi.
 */
export class PiStream {
  /** @type {{ resolve(answer: any): void, reject(error: Error): void } | undefined} */
  #attaching;
  #lines;
  #receiver;

  /**
   * @param {import("node:net").Socket} socket
   * @param {StreamReceiver} receiver
   */
  constructor(socket, receiver) {
    this.#receiver = receiver;
    this.#lines = new LineSocket(socket, longestCommand, {
      line: (text) => (this.#attaching ? this.#takeAnswer(text) : this.#takeCommand(text)),
      tooLong: () => this.#refuse("the line is longer than 64 MiB"),
      closed: (reason) => {
        this.#attaching?.reject(new NoAnswer(reason));
        receiver.closed(reason);
      },
    });
  }

  /**
   * Registers the session. Events of the time until the answer are kept, and follow it.
   * @param {object} session
   * @returns {Promise<any>}
   * @throws {DaemonError | NoAnswer}
   */
  attach(session) {
    return new Promise((resolve, reject) => {
      this.#attaching = { resolve, reject };
      this.#lines.send(`${JSON.stringify({ jsonrpc: "2.0", id: "attach", method: "session.attach", params: session })}\n`);
      this.#lines.hold();
    });
  }

  /**
   * @param {string} line an event with its `\n`
   * @param {boolean} [mayBeDropped]
   */
  send(line, mayBeDropped) {
    this.#lines.send(line, mayBeDropped);
  }

  /** @param {string} reason */
  end(reason) {
    this.#lines.end(reason);
  }

  /** @param {string} reason */
  close(reason) {
    this.#lines.close(reason);
  }

  /** @param {string} text */
  #takeAnswer(text) {
    const attaching = this.#attaching;
    const { result, error } = parsed(text) ?? {};
    if (error) return attaching?.reject(new DaemonError(Number(error.code ?? 0), String(error.message ?? "the daemon gave no reason")));
    if (!result) return this.close("the daemon sends lines that are not of the protocol");
    this.#attaching = undefined;
    this.#lines.release();
    attaching?.resolve(result);
  }

  /** @param {string} text */
  #takeCommand(text) {
    let command;
    try {
      command = JSON.parse(text);
    } catch (error) {
      return this.#refuse(error instanceof Error ? error.message : String(error));
    }
    this.#receiver.command(command, (response) => this.#respond(response));
  }

  /** @param {string} problem of a line that is no command */
  #refuse(problem) {
    this.#respond({ type: "response", command: "parse", success: false, error: `Failed to parse command: ${problem}` });
  }

  /** @type {Respond} */
  #respond(response) {
    let line = JSON.stringify(response);
    if (!fitsIntoLine(line)) {
      const { id, type, command } = response;
      line = JSON.stringify({ id, type, command, success: false, error: "the answer is longer than 1 MiB" });
    }
    this.#lines.send(`${line}\n`);
  }
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
