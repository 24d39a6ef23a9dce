/** Bytes that may wait for the daemon before lines that may be dropped are dropped. */
export const softLimit = 1 << 20;
/** Bytes that may wait for the daemon before the connection is given up. */
export const hardLimit = 8 << 20;

/**
 * The lines that wait to be written to a socket: gathered, so that a burst of events is one write, and bounded, so that a
 * daemon that does not read costs pi neither time nor memory.
 */
export class OutgoingLines {
  /** @type {string[]} */
  #lines = [];
  #size = 0;
  #isHeld = false;
  #isScheduled = false;
  #isClosed = false;
  #socket;
  #onOverflow;

  /**
   * @param {import("node:net").Socket} socket
   * @param {() => void} onOverflow
   */
  constructor(socket, onOverflow) {
    this.#socket = socket;
    this.#onOverflow = onOverflow;
  }

  /**
   * @param {string} line with its `\n`
   * @param {boolean} [mayBeDropped]
   */
  send(line, mayBeDropped = false) {
    if (this.#isClosed) return;
    const waiting = this.#size + this.#socket.writableLength;
    if (mayBeDropped && waiting > softLimit) return;
    if (waiting + line.length > hardLimit) {
      this.close();
      return this.#onOverflow();
    }
    this.#lines.push(line);
    this.#size += line.length;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.flush());
  }

  /** Writes what waits at once. */
  flush() {
    this.#isScheduled = false;
    if (this.#isHeld || this.#isClosed || this.#lines.length === 0) return;
    const text = this.#lines.length === 1 ? /** @type {string} */ (this.#lines[0]) : this.#lines.join("");
    this.#lines = [];
    this.#size = 0;
    this.#socket.write(text);
  }

  /** Writes what waits at once, and keeps what comes until `release`. */
  hold() {
    this.flush();
    this.#isHeld = true;
  }

  release() {
    this.#isHeld = false;
    this.flush();
  }

  close() {
    this.#isClosed = true;
    this.#lines = [];
  }
}
