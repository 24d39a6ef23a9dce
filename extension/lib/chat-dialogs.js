import { NoAnswer } from "./rpc-connection.js";

/** Of all dialogs of this process. */
let lastId = 0;

/**
 * pi's dialogs in the chats that follow a session of a terminal: they go to the daemon as those of `pi --mode rpc`. An answer that
 * comes after a withdrawal has no effect.
 */
export class ChatDialogs {
  /** @type {Map<string, { resolve(answer: string | undefined): void, reject(error: Error): void }>} */
  #open = new Map();
  #report;

  /** @param {(event: Record<string, any>) => void} report sends an event to the daemon */
  constructor(report) {
    this.#report = report;
  }

  /** @param {string} title @param {string[]} options @param {{ signal?: AbortSignal }} dialog */
  select(title, options, { signal }) {
    return this.#ask({ method: "select", title, options }, signal);
  }

  /** @param {string} title @param {string} placeholder @param {{ signal?: AbortSignal }} dialog */
  input(title, placeholder, { signal }) {
    return this.#ask({ method: "input", title, placeholder }, signal);
  }

  /** @param {any} response the daemon's `extension_ui_response` */
  answer(response) {
    this.#open.get(response?.id)?.resolve(typeof response.value === "string" ? response.value : undefined);
  }

  /**
   * The connection has ended, and with it the questions on it.
   * @param {string} reason
   */
  lose(reason) {
    for (const dialog of [...this.#open.values()]) dialog.reject(new NoAnswer(reason));
  }

  /**
   * @param {object} request
   * @param {AbortSignal | undefined} signal withdraws the question; its reason is shown, where it is a text
   * @returns {Promise<string | undefined>} undefined for a question that was cancelled or withdrawn
   * @throws {NoAnswer}
   */
  #ask(request, signal) {
    if (signal?.aborted) return Promise.resolve(undefined);
    const id = `terminal-${process.pid}-${(lastId += 1)}`;
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#open.delete(id);
        signal?.removeEventListener("abort", withdraw);
      };
      const withdraw = () => {
        settle();
        const reason = typeof signal?.reason === "string" ? signal.reason : "the run was stopped";
        this.#report({ type: "extension_ui_withdrawn", id, reason });
        resolve(undefined);
      };
      signal?.addEventListener("abort", withdraw);
      this.#open.set(id, {
        resolve: (answer) => {
          settle();
          resolve(answer);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      this.#report({ type: "extension_ui_request", id, ...request });
    });
  }
}
