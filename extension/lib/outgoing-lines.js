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
  #dropped = 0;
  #isScheduled = false;
  #isClosed = false;
  #socket;
  #noticeOf;
  #onOverflow;

  /**
   * @param {import("node:net").Socket} socket
   * @param {(dropped: number) => string} noticeOf the line that tells the daemon how many lines were dropped
   * @param {() => void} onOverflow
   */
  constructor(socket, noticeOf, onOverflow) {
    this.#socket = socket;
    this.#noticeOf = noticeOf;
    this.#onOverflow = onOverflow;
    socket.on("drain", () => this.#tellDropped());
  }

  get waitingBytes() {
    return this.#size + this.#socket.writableLength;
  }

  /**
   * @param {string} line with its `\n`
   * @param {boolean} [mayBeDropped]
   */
  send(line, mayBeDropped = false) {
    if (this.#isClosed) return;
    const waiting = this.waitingBytes;
    if (mayBeDropped && waiting > softLimit) {
      this.#dropped += 1;
      return;
    }
    if (waiting + line.length > hardLimit) {
      this.#isClosed = true;
      this.#lines = [];
      return this.#onOverflow();
    }
    this.#append(line);
  }

  /** Writes what waits at once. */
  flush() {
    this.#isScheduled = false;
    if (this.#isClosed || this.#lines.length === 0) return;
    const text = this.#lines.length === 1 ? /** @type {string} */ (this.#lines[0]) : this.#lines.join("");
    this.#lines = [];
    this.#size = 0;
    this.#socket.write(text);
  }

  close() {
    this.#isClosed = true;
    this.#lines = [];
  }

  /** @param {string} line */
  #append(line) {
    this.#lines.push(line);
    this.#size += line.length;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.flush());
  }

  #tellDropped() {
    if (this.#dropped === 0 || this.#isClosed) return;
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#append(this.#noticeOf(dropped));
  }
}
