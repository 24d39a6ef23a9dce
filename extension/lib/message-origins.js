/** Messages that may be outstanding; pi itself bounds those of the daemon. */
const maximumExpected = 200;

/**
 * `interactive`: typed in the terminal. `relay`: sent by the daemon. `extension`: by another extension.
 * @typedef {{ source: "interactive" | "relay" | "extension", isCertain: boolean }} Origin
 *
 * `beginsRun`: it was given to pi while pi was idle. `accepted`: called when it shows that pi has it, perhaps more than once.
 * @typedef {{
 *   source: "interactive" | "relay",
 *   text: string,
 *   behavior?: string,
 *   beginsRun?: boolean,
 *   accepted?: () => void,
 * }} Expected
 */

/** Remembers which messages the terminal and the daemon gave to pi, and tells where a message that a run takes came from. */
export class MessageOrigins {
  /** @type {Expected[]} */
  #expected = [];
  /** @type {Set<Expected>} */
  #old = new Set();
  #hasCompacted = false;

  /** @param {Expected} message */
  expect(message) {
    this.#expected.push(message);
    // A message of the daemon is never forgotten: its turn would count as one of the terminal.
    if (this.#expected.length <= maximumExpected) return;
    const typed = this.#expected.find((one) => one.source === "interactive");
    if (typed) this.forget(typed);
  }

  /** @param {Expected} message */
  forget(message) {
    this.#expected = this.#expected.filter((one) => one !== message);
  }

  /** A run begins. */
  runBegan() {
    for (const one of this.#expected) if (one.beginsRun) one.accepted?.();
  }

  /** pi gives itself the messages that were typed during a compaction, and shows most of them to no handler of `input`. */
  compacted() {
    this.#hasCompacted = true;
  }

  /**
   * Takes the message that a run has taken out of what is outstanding.
   *
   * Texts are compared: first one that was sent while pi was idle, then steering, as pi takes it first. pi expands templates that
   * are typed in the terminal, so that no text is equal: such a message is of the terminal if anything of the terminal is
   * outstanding, or may have been typed during a compaction. The origin is not certain where a message of the other source is
   * outstanding that could be meant.
   * @param {string} text
   * @returns {Origin}
   */
  taken(text) {
    const equal = this.#expected.filter((one) => one.text === text);
    const exact = equal.find((one) => one.beginsRun) ?? equal.find((one) => one.behavior === "steer") ?? equal[0];
    if (exact) return this.#take(exact, equal.every((one) => one.source === exact.source));
    const terminal = this.#expected.find((one) => one.source === "interactive");
    const relay = this.#expected.find((one) => one.source === "relay");
    if (terminal) return this.#take(terminal, relay === undefined);
    // The message of the daemon is still to come: without it here, its turn would not count as one of a chat.
    if (relay && this.#hasCompacted) return { source: "interactive", isCertain: false };
    if (relay) return this.#take(relay, true);
    return { source: "extension", isCertain: true };
  }

  /** pi is idle and holds no message: what was outstanding when it was idle the last time will not come. */
  settled() {
    this.#hasCompacted = false;
    this.#expected = this.#expected.filter((one) => !this.#old.has(one));
    this.#old = new Set(this.#expected);
  }

  /** @param {Expected} message @param {boolean} isCertain @returns {Origin} */
  #take(message, isCertain) {
    this.forget(message);
    message.accepted?.();
    return { source: message.source, isCertain };
  }
}

/**
 * The text of a user's message.
 * @param {any} message
 */
export function textOf(message) {
  const content = message?.content;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((block) => (block?.type === "text" ? String(block.text ?? "") : "")).join("");
}
