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
   * @param {(disposition: "started" | "queued") => void} accepted is called when pi has the message, before pi reports anything of it
   * @returns {Promise<void>}
   */
  deliver(text, images, behavior, accepted) {
    const one = this.#previous.then(() => this.#give(text, images, behavior, accepted));
    this.#previous = one.catch(() => {});
    return one;
  }

  /**
   * @param {string} text
   * @param {ImageContent[]} images
   * @param {"steer" | "followUp"} behavior
   * @param {(disposition: "started" | "queued") => void} accepted
   */
  async #give(text, images, behavior, accepted) {
    if (this.#session.context().isIdle()) await requireModel(this.#session.context());
    const wasIdle = this.#session.context().isIdle();
    // In the middle of a run pi queues it.
    if (wasIdle && this.#session.isCompacting) throw new Error("pi is compacting the session; send it again afterwards");
    /** @type {import("./message-origins.js").Expected} */
    const message = { source: "relay", text, behavior, beginsRun: wasIdle };
    let cancelLimit = () => {};
    try {
      await /** @type {Promise<void>} */ (
        new Promise((resolve, reject) => {
          message.accepted = () => {
            message.accepted = undefined;
            accepted(wasIdle ? "started" : "queued");
            resolve();
          };
          this.#session.origins.expect(message);
          const content = images.length === 0 ? text : [/** @type {const} */ ({ type: "text", text }), ...images];
          // pi returns nothing, and shows a failure in its terminal alone.
          this.#pi.sendUserMessage(content, { deliverAs: behavior });
          if (wasIdle) cancelLimit = this.#clock.after(startLimit, () => reject(new StartOverdue()));
          else setImmediate(() => message.accepted?.());
        })
      );
    } catch (error) {
      message.accepted = undefined;
      // A message that pi may still take stays expected: its turn must not count as one of the terminal.
      if (!(error instanceof StartOverdue)) this.#session.origins.forget(message);
      throw error;
    } finally {
      cancelLimit();
    }
  }
}

/**
 * Refuses what pi would refuse: an extension is not told that a message began no run.
 * @param {PiContext} ctx
 * @throws {Error}
 */
async function requireModel({ model, modelRegistry }) {
  if (!model) throw new Error("pi has no model; choose one with /model in its terminal");
  if (modelRegistry.hasConfiguredAuth?.(model) !== false) return;
  // A key that came since pi looked for keys is found by this only.
  const { apiKey, headers } = (await modelRegistry.getApiKeyAndHeaders?.(model)) ?? {};
  if (apiKey || headers) return;
  throw new Error(`pi has no key for ${model.provider}; type /login in its terminal, or set the key and start pi again`);
}
