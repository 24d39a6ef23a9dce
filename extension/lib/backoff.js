const first = 250;
export const longest = 60_000;

/** Waits that double from 0.25 s to 60 s, each up to a quarter shorter or longer, so that many sessions do not return at once. */
export class Backoff {
  #attempts = 0;
  #random;

  /** @param {() => number} random from 0 to 1 */
  constructor(random) {
    this.#random = random;
  }

  /** The next wait in milliseconds. */
  next() {
    const wait = Math.min(first * 2 ** this.#attempts, longest);
    this.#attempts = Math.min(this.#attempts + 1, 16);
    return wait * (0.75 + 0.5 * this.#random());
  }

  reset() {
    this.#attempts = 0;
  }
}
