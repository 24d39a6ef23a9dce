import { LineSocket, fitsIntoLine, maximumLine } from "./line-socket.js";

const maximumJunkLines = 20;
/** The id of the last request. It is never used again, so that an answer to a request of an earlier connection answers nothing. */
let lastId = 0;

/** Codes of JSON-RPC errors. */
const errorCodes = { invalidRequest: -32600, methodNotFound: -32601, invalidParams: -32602 };

/** An error that the daemon answered. */
export class DaemonError extends Error {
  /** @param {number} code @param {string} message */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** No answer: the connection was lost, or the time was over. */
export class NoAnswer extends Error {}

/** The request was withdrawn by its own signal. */
export class Withdrawn extends Error {}

/**
 * @typedef {{ notification(method: string, params: any): void, closed(reason: string): void }} Receiver
 */

/** JSON-RPC 2.0 over a connected socket, a line for each message. The daemon sends notifications; it has nothing to ask. */
export class RpcConnection {
  /** @type {Map<number, { settle(): void, resolve(value: any): void, reject(error: Error): void }>} */
  #waiting = new Map();
  #junk = 0;
  #clock;
  #receiver;
  #lines;

  /**
   * @param {import("node:net").Socket} socket
   * @param {import("./clock.js").Clock} clock
   * @param {Receiver} receiver
   */
  constructor(socket, clock, receiver) {
    this.#clock = clock;
    this.#receiver = receiver;
    this.#lines = new LineSocket(socket, maximumLine, {
      line: (text) => this.#receive(text),
      tooLong: () => this.#refuseLongLine(),
      closed: (reason) => {
        for (const id of [...this.#waiting.keys()]) this.#settle(id)?.reject(new NoAnswer(reason));
        receiver.closed(reason);
      },
    });
  }

  /**
   * Sends a request and waits for its answer. A signal that aborts withdraws the request.
   * @param {string} method
   * @param {object} params
   * @param {{ milliseconds?: number, signal?: AbortSignal }} [options] without `milliseconds` there is no time limit
   * @returns {Promise<any>}
   * @throws {DaemonError | NoAnswer | Withdrawn}
   */
  request(method, params, options = {}) {
    const { milliseconds, signal } = options;
    if (this.#lines.isClosed) return Promise.reject(new NoAnswer("there is no connection to the daemon"));
    if (signal?.aborted) return Promise.reject(new Withdrawn("withdrawn"));
    const id = (lastId += 1);
    return new Promise((resolve, reject) => {
      const withdraw = () => {
        this.#settle(id)?.reject(new Withdrawn("withdrawn"));
        this.tell("extension.withdraw", { request: id });
      };
      const expire = () => {
        this.#settle(id)?.reject(new NoAnswer("the daemon did not answer in time"));
        this.tell("extension.withdraw", { request: id });
      };
      const cancelTimer = milliseconds === undefined ? undefined : this.#clock.after(milliseconds, expire);
      signal?.addEventListener("abort", withdraw, { once: true });
      const settle = () => {
        cancelTimer?.();
        signal?.removeEventListener("abort", withdraw);
      };
      this.#waiting.set(id, { settle, resolve, reject });
      const line = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      if (fitsIntoLine(line)) this.#lines.send(`${line}\n`);
      else this.#settle(id)?.reject(new DaemonError(errorCodes.invalidParams, "it is longer than 1 MiB"));
    });
  }

  /**
   * Sends a request whose answer nobody waits for.
   * @param {string} method
   * @param {object} params
   */
  tell(method, params) {
    this.#send({ id: (lastId += 1), method, params });
  }

  /** @param {string} reason */
  end(reason) {
    this.#lines.end(reason);
  }

  /** @param {string} reason */
  close(reason) {
    this.#lines.close(reason);
  }

  /** @param {object} message */
  #send(message) {
    this.#lines.send(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  /** @param {number} id */
  #settle(id) {
    const one = this.#waiting.get(id);
    this.#waiting.delete(id);
    one?.settle();
    return one;
  }

  /** The id of a line that was skipped is not known. */
  #refuseLongLine() {
    this.#send({ id: null, error: { code: errorCodes.invalidRequest, message: "a line was longer than 1 MiB, and was skipped" } });
    this.#countJunk();
  }

  #countJunk() {
    this.#junk += 1;
    if (this.#junk >= maximumJunkLines) this.close("the daemon sends lines that are not of the protocol");
  }

  /** @param {string} line */
  #receive(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return this.#countJunk();
    }
    if (message === null || typeof message !== "object" || Array.isArray(message)) return this.#countJunk();
    if (typeof message.method === "string") {
      if (message.id === undefined || message.id === null) return this.#receiver.notification(message.method, message.params ?? {});
      this.#send({ id: message.id, error: { code: errorCodes.methodNotFound, message: `there is no method ${message.method}` } });
    } else if ("id" in message && ("result" in message || "error" in message)) {
      const one = this.#settle(message.id);
      if (!one) return;
      const error = message.error;
      if (error) one.reject(new DaemonError(Number(error.code ?? 0), String(error.message ?? "the daemon gave no reason")));
      else one.resolve(message.result);
    } else {
      this.#countJunk();
    }
  }
}
