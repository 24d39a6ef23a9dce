/** The time after which a command counts as handled, in milliseconds: pi does not tell its end. */
const patience = 2_000;

/**
 * Runs commands of other extensions for a chat.
 *
 * Newer releases of pi run a command in the text of an extension. Older ones would give the text to the model: they show it to
 * the handlers of `input` first, where it is held back.
 */
export class ExtensionCommands {
  /** @type {Map<string, () => void>} */
  #running = new Map();
  #pi;
  #requester;
  #clock;

  /**
   * @param {PiAPI} pi
   * @param {import("./turn-requester.js").TurnRequester} requester
   * @param {import("./clock.js").Clock} clock
   */
  constructor(pi, requester, clock) {
    this.#pi = pi;
    this.#requester = requester;
    this.#clock = clock;
    pi.on("input", (event) => {
      const refuse = event.source === "extension" ? this.#running.get(event.text) : undefined;
      if (!refuse) return undefined;
      refuse();
      return { action: "handled" };
    });
  }

  /**
   * @param {string} text with its `/`
   * @param {"steer" | "followUp"} behavior
   * @returns {Promise<void>}
   */
  run(text, behavior) {
    return new Promise((resolve, reject) => {
      const finish = (/** @type {unknown} */ error) => {
        this.#running.delete(text);
        cancel();
        if (error) reject(error);
        else resolve();
      };
      const cancel = this.#clock.after(patience, () => finish(undefined));
      this.#running.set(text, () => finish(new Error("this release of pi runs commands of extensions only from its terminal; update pi")));
      this.#requester.commandRun();
      try {
        this.#pi.sendUserMessage(text, { deliverAs: behavior, expandPromptTemplates: true });
      } catch (error) {
        finish(error);
      }
    });
  }
}
