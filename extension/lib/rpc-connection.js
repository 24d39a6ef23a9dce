import { LineReader } from "./line-reader.js";
import { OutgoingLines } from "./outgoing-lines.js";

/** The longest line in either direction, in bytes. */
export const maximumLine = 1 << 20;
const maximumOpenRequests = 64;
const maximumJunkLines = 20;
/** The id of the last request. It is never used again, so that an answer to a request of an earlier connection answers nothing. */
let lastId = 0;

/** Codes of JSON-RPC errors. */
export const errorCodes = { methodNotFound: -32601, invalidParams: -32602, internal: -32603, busy: -32001, forbidden: -32003, unavailable: -32004 };

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
 * @typedef {{
 *   request(method: string, params: any, id: number | string): unknown,
 *   notification(method: string, params: any): void,
 *   closed(reason: string): void,
 * }} Receiver
 */

/** JSON-RPC 2.0 over a connected socket, a line for each message. Both sides send requests. */
export class RpcConnection {
  /** @type {Map<number, { settle(): void, resolve(value: any): void, reject(error: Error): void }>} */
  #waiting = new Map();
  #openRequests = 0;
  #junk = 0;
  #isClosed = false;
  #socket;
  #clock;
  #receiver;
  #outgoing;

  /**
   * @param {import("node:net").Socket} socket
   * @param {import("./clock.js").Clock} clock
   * @param {Receiver} receiver
   */
  constructor(socket, clock, receiver) {
    this.#socket = socket;
    this.#clock = clock;
    this.#receiver = receiver;
    this.#outgoing = new OutgoingLines(
      socket,
      (dropped) => `${JSON.stringify({ jsonrpc: "2.0", method: "extension.dropped", params: { events: dropped } })}\n`,
      () => this.close("the daemon does not read"),
    );
    const reader = new LineReader(maximumLine, (line) => this.#receive(line), () => this.#countJunk());
    socket.on("data", (chunk) => reader.push(chunk));
    socket.on("error", (error) => this.close(reasonOf(error)));
    socket.on("close", () => this.close("the daemon closed the connection"));
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
    if (this.#isClosed) return Promise.reject(new NoAnswer("there is no connection to the daemon"));
    if (signal?.aborted) return Promise.reject(new Withdrawn("withdrawn"));
    const id = (lastId += 1);
    return new Promise((resolve, reject) => {
      const withdraw = () => {
        this.#settle(id)?.reject(new Withdrawn("withdrawn"));
        this.notify("extension.withdraw", { request: id, ...(typeof signal?.reason === "object" ? signal.reason.details : {}) });
      };
      const expire = () => {
        this.#settle(id)?.reject(new NoAnswer("the daemon did not answer in time"));
        this.notify("extension.withdraw", { request: id });
      };
      const cancelTimer = milliseconds === undefined ? undefined : this.#clock.after(milliseconds, expire);
      signal?.addEventListener("abort", withdraw, { once: true });
      const settle = () => {
        cancelTimer?.();
        signal?.removeEventListener("abort", withdraw);
      };
      this.#waiting.set(id, { settle, resolve, reject });
      const line = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      if (line.length * 3 > maximumLine && Buffer.byteLength(line) >= maximumLine) {
        this.#settle(id)?.reject(new DaemonError(errorCodes.invalidParams, "it is longer than 1 MiB"));
      } else {
        this.#outgoing.send(`${line}\n`);
      }
    });
  }

  /** @param {string} method @param {object} params */
  notify(method, params) {
    this.#outgoing.send(`${JSON.stringify({ jsonrpc: "2.0", method, params })}\n`);
  }

  /** @param {string} line a whole notification with its `\n` @param {boolean} mayBeDropped */
  notifyLine(line, mayBeDropped) {
    this.#outgoing.send(line, mayBeDropped);
  }

  /**
   * Writes what waits, and ends.
   * @param {string} reason
   */
  end(reason) {
    if (this.#isClosed) return;
    this.#outgoing.flush();
    this.#socket.end();
    this.#finish(reason);
  }

  /**
   * Ends at once.
   * @param {string} reason
   */
  close(reason) {
    if (this.#isClosed) return;
    this.#socket.destroy();
    this.#finish(reason);
  }

  /** @param {string} reason */
  #finish(reason) {
    this.#isClosed = true;
    this.#outgoing.close();
    for (const id of [...this.#waiting.keys()]) this.#settle(id)?.reject(new NoAnswer(reason));
    this.#receiver.closed(reason);
  }

  /** @param {number} id */
  #settle(id) {
    const one = this.#waiting.get(id);
    this.#waiting.delete(id);
    one?.settle();
    return one;
  }

  #countJunk() {
    this.#junk += 1;
    if (this.#junk >= maximumJunkLines) this.close("the daemon sends lines that are not of the protocol");
  }

  /** @param {string} line */
  #receive(line) {
    if (this.#isClosed) return;
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return this.#countJunk();
    }
    if (message === null || typeof message !== "object" || Array.isArray(message)) return this.#countJunk();
    if (typeof message.method === "string") {
      const params = message.params ?? {};
      if (message.id === undefined || message.id === null) return this.#receiver.notification(message.method, params);
      void this.#answer(message.id, message.method, params);
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

  /** @param {number | string} id @param {string} method @param {any} params */
  async #answer(id, method, params) {
    if (this.#openRequests >= maximumOpenRequests) {
      return this.#reply(id, { error: { code: errorCodes.busy, message: "too many requests are unanswered; send it again later" } });
    }
    this.#openRequests += 1;
    try {
      this.#reply(id, { result: (await this.#receiver.request(method, params, id)) ?? {} });
    } catch (error) {
      const code = error instanceof DaemonError ? error.code : errorCodes.internal;
      this.#reply(id, { error: { code, message: error instanceof Error ? error.message : String(error) } });
    } finally {
      this.#openRequests -= 1;
    }
  }

  /** @param {number | string} id @param {object} body */
  #reply(id, body) {
    if (this.#isClosed) return;
    let line = JSON.stringify({ jsonrpc: "2.0", id, ...body });
    if (line.length * 3 > maximumLine && Buffer.byteLength(line) >= maximumLine) {
      line = JSON.stringify({ jsonrpc: "2.0", id, error: { code: errorCodes.internal, message: "the answer is longer than 1 MiB" } });
    }
    this.#outgoing.send(`${line}\n`);
  }
}

/** @param {Error & { code?: string }} error of a socket */
function reasonOf(error) {
  switch (error.code) {
    case "ECONNREFUSED":
    case "ENOENT": return "the daemon is not running";
    case "ECONNRESET":
    case "EPIPE": return "the daemon closed the connection";
    default: return error.message;
  }
}
