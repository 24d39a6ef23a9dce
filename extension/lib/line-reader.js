const newline = 10;

/** Cuts a stream of bytes into lines, each ended by `\n`, and skips those that are empty or too long. */
export class LineReader {
  /** @type {Buffer[]} */
  #parts = [];
  #size = 0;
  #isSkipping = false;
  #limit;
  #onLine;
  #onTooLong;

  /**
   * @param {number} limit the longest line, in bytes
   * @param {(line: string) => void} onLine
   * @param {() => void} onTooLong called once for each line that is skipped
   */
  constructor(limit, onLine, onTooLong) {
    this.#limit = limit;
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
  }

  /** @param {Buffer} chunk */
  push(chunk) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      this.#take(chunk.subarray(start, end));
      this.#finish();
      start = end + 1;
    }
    if (start < chunk.length) this.#take(chunk.subarray(start));
  }

  /** @param {Buffer} part */
  #take(part) {
    this.#size += part.length;
    if (this.#size > this.#limit) {
      this.#isSkipping = true;
      this.#parts = [];
    } else {
      this.#parts.push(part);
    }
  }

  #finish() {
    const parts = this.#parts;
    const wasSkipped = this.#isSkipping;
    this.#parts = [];
    this.#size = 0;
    this.#isSkipping = false;
    if (wasSkipped) return this.#onTooLong();
    const only = parts.length === 1 ? parts[0] : undefined;
    const line = (only ?? Buffer.concat(parts)).toString("utf8");
    if (line !== "" && line !== "\r") this.#onLine(line);
  }
}
