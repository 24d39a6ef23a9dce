/** The time in which pi begins a run after a prompt, in milliseconds. */
const startLimit = 30_000;

class StartOverdue extends Error {
  constructor() {
    super("pi has not begun a run within 30 s; look at its terminal");
  }
}

/**
 * Gives messages of the daemon to pi, one at a time.
 *
 * Two prompts that arrive together while pi is idle would lose the second: the next one waits until the run of the first has
 * begun. Each message names a mode of delivery, so that a run that begins meanwhile in the terminal queues it.
 */
export class PromptDelivery {
  /** @type {Promise<unknown>} */
  #previous = Promise.resolve();
  #pi;
  #session;
  #clock;

  /**
   * @param {PiAPI} pi
   * @param {import("./attached-session.js").AttachedSession} session
   * @param {import("./clock.js").Clock} clock
   */
  constructor(pi, session, clock) {
    this.#pi = pi;
    this.#session = session;
    this.#clock = clock;
  }

  /**
   * @param {string} text
   * @param {ImageContent[]} images
   * @param {"steer" | "followUp"} behavior
   * @param {number | string | undefined} command the id of the command
   * @returns {Promise<"started" | "queued">}
   */
  deliver(text, images, behavior, command) {
    const one = this.#previous.then(() => this.#give(text, images, behavior, command));
    this.#previous = one.catch(() => {});
    return one;
  }

  /**
   * @param {string} text
   * @param {ImageContent[]} images
   * @param {"steer" | "followUp"} behavior
   * @param {number | string | undefined} command
   * @returns {Promise<"started" | "queued">}
   */
  async #give(text, images, behavior, command) {
    const ctx = this.#session.context();
    if (this.#session.isCompacting) throw new Error("pi is compacting the session; send it again afterwards");
    const wasIdle = ctx.isIdle();
    /** @type {() => void} */
    let started = () => {};
    const start = new Promise((resolve) => (started = () => resolve("started")));
    /** @type {import("./message-origins.js").Expected} */
    const message = { source: "relay", text, behavior, command, beginsRun: wasIdle, started };
    this.#session.origins.expect(message);
    try {
      const content = images.length === 0 ? text : [/** @type {const} */ ({ type: "text", text }), ...images];
      const sent = this.#pi.sendUserMessage(content, { deliverAs: behavior });
      // The promise of newer releases lasts as long as the run: only its failure counts.
      const failure = new Promise((_, reject) => void Promise.resolve(sent).catch(reject));
      failure.catch(() => {});
      if (wasIdle) return await this.#within(Promise.race([start, failure]));
      return await Promise.race([failure, new Promise((resolve) => setImmediate(() => resolve("queued")))]);
    } catch (error) {
      // A message that pi may still take stays expected: its turn must not count as one of the terminal.
      if (!(error instanceof StartOverdue)) this.#session.origins.forget(message);
      throw error;
    }
  }

  /** @param {Promise<any>} start @returns {Promise<any>} */
  #within(start) {
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(startLimit, () => reject(new StartOverdue()));
      start.then(resolve, reject).finally(cancel);
    });
  }
}
