import { LineReader } from "./line-reader.js";
import { OutgoingLines } from "./outgoing-lines.js";

/** The longest line of the protocol and of pi's output, in bytes. */
export const maximumLine = 1 << 20;

/**
 * @param {string} text of a line, without its `\n`
 * @param {number} [limit] in bytes
 */
export function fitsIntoLine(text, limit = maximumLine) {
  return text.length * 3 <= limit || Buffer.byteLength(text) <= limit;
}

/**
 * @typedef {{ line(text: string): void, tooLong(): void, closed(reason: string): void }} LineReceiver
 */

/** A connected socket as lines in both directions, with the reason why it has ended. */
export class LineSocket {
  isClosed = false;
  #socket;
  #receiver;
  #outgoing;

  /**
   * @param {import("node:net").Socket} socket
   * @param {number} longestIncoming the longest line that is read, in bytes
   * @param {LineReceiver} receiver
   */
  constructor(socket, longestIncoming, receiver) {
    this.#socket = socket;
    this.#receiver = receiver;
    this.#outgoing = new OutgoingLines(socket, () => this.close("the daemon does not read"));
    const reader = new LineReader(
      longestIncoming,
      (line) => this.isClosed || receiver.line(line),
      () => this.isClosed || receiver.tooLong(),
    );
    socket.on("data", (chunk) => reader.push(chunk));
    socket.on("error", (error) => this.close(reasonOf(error)));
    socket.on("close", () => this.close("the daemon closed the connection"));
  }

  /**
   * @param {string} line with its `\n`
   * @param {boolean} [mayBeDropped]
   */
  send(line, mayBeDropped) {
    this.#outgoing.send(line, mayBeDropped);
  }

  /** Writes what waits, and nothing more until `release`. */
  hold() {
    this.#outgoing.hold();
  }

  release() {
    this.#outgoing.release();
  }

  /**
   * Writes what waits, and ends.
   * @param {string} reason
   */
  end(reason) {
    if (this.isClosed) return;
    this.#outgoing.flush();
    this.#socket.end();
    this.#finish(reason);
  }

  /**
   * Ends at once.
   * @param {string} reason
   */
  close(reason) {
    if (this.isClosed) return;
    this.#socket.destroy();
    this.#finish(reason);
  }

  /** @param {string} reason */
  #finish(reason) {
    this.isClosed = true;
    this.#outgoing.close();
    this.#receiver.closed(reason);
  }
}

/** @param {Error & { code?: string }} error of a socket */
function reasonOf(error) {
  switch (error.code) {
    case "ECONNREFUSED":
    case "ENOENT": return "the daemon is not running";
    case "ECONNRESET":
    case "EPIPE": return "the daemon closed the connection";
    default: return error.message;
  }
}
