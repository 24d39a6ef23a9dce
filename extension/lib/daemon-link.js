import { createConnection } from "node:net";
import { Backoff, longest } from "./backoff.js";
import { DaemonError, NoAnswer, RpcConnection } from "./rpc-connection.js";
import { socketObstacle } from "./socket-path.js";
import { watchForSocket } from "./socket-watch.js";

const greetingLimit = 10_000;
const answerLimit = 30_000;
/** A connection that lasted this long was a working one: the next loss begins with the shortest wait. */
const workingTime = 10_000;

/**
 * `away`: no daemon, or the connection was lost. `refused`: the daemon answered, and does not take this session.
 * `stopped`: disconnected on purpose.
 * @typedef {"stopped" | "connecting" | "connected" | "away" | "refused"} LinkState
 *
 * @typedef {{
 *   greet(connection: RpcConnection): Promise<void>,
 *   changed(state: LinkState, reason: string): void,
 *   request(method: string, params: any, id: number | string): unknown,
 *   notification(method: string, params: any): void,
 * }} LinkOwner
 */

/** The connection to the daemon, which is made again after each loss. Without a daemon it waits for a change of the folder. */
export class DaemonLink {
  /** @type {LinkState} */
  state = "stopped";
  reason = "not started";
  /** @type {RpcConnection | undefined} */
  #connection;
  /** Counts connections, so that a late event of an earlier one is ignored. */
  #round = 0;
  #connectedAt = 0;
  /** @type {(() => void) | undefined} */
  #cancelRetry;
  /** @type {(() => void) | undefined} */
  #stopWatch;
  /** @type {Set<() => void>} */
  #awaited = new Set();
  #backoff;
  #clock;
  #owner;

  /**
   * @param {string} path of the socket
   * @param {{ clock: import("./clock.js").Clock, random: () => number }} surroundings
   * @param {LinkOwner} owner
   */
  constructor(path, { clock, random }, owner) {
    this.path = path;
    this.#clock = clock;
    this.#backoff = new Backoff(random);
    this.#owner = owner;
  }

  get isConnected() {
    return this.state === "connected";
  }

  /** Connects now, or again. */
  start() {
    this.#leave("connecting anew");
    this.#backoff.reset();
    this.#connect();
  }

  /**
   * Disconnects and stays so.
   * @param {string} reason
   * @param {{ method: string, params: object }} [farewell] is written before the end
   */
  stop(reason, farewell) {
    if (farewell && this.isConnected) this.#connection?.notify(farewell.method, farewell.params);
    this.#leave(reason);
    this.#set("stopped", reason);
  }

  /**
   * @param {string} method
   * @param {object} params
   * @param {{ milliseconds?: number | null, signal?: AbortSignal }} [options] `milliseconds: null` for no time limit
   */
  request(method, params, options = {}) {
    const { milliseconds = answerLimit, signal } = options;
    if (!this.isConnected || !this.#connection) return Promise.reject(new NoAnswer(this.reason));
    return this.#connection.request(method, params, { milliseconds: milliseconds ?? undefined, signal });
  }

  /** @param {string} method @param {object} params */
  notify(method, params) {
    if (this.isConnected) this.#connection?.notify(method, params);
  }

  /** @param {string} line @param {boolean} mayBeDropped */
  notifyLine(line, mayBeDropped) {
    if (this.isConnected) this.#connection?.notifyLine(line, mayBeDropped);
  }

  /**
   * Waits for a connection.
   * @param {{ milliseconds?: number, signal?: AbortSignal }} options
   * @returns {Promise<boolean>} false when the time was over or the signal came
   */
  whenConnected({ milliseconds, signal }) {
    if (this.isConnected) return Promise.resolve(true);
    if (signal?.aborted || this.state === "stopped") return Promise.resolve(false);
    return new Promise((resolve) => {
      /** @param {boolean} isConnected */
      const finish = (isConnected) => {
        this.#awaited.delete(arrived);
        cancel?.();
        signal?.removeEventListener("abort", leave);
        resolve(isConnected);
      };
      const arrived = () => finish(true);
      const leave = () => finish(false);
      const cancel = milliseconds === undefined ? undefined : this.#clock.after(milliseconds, leave);
      signal?.addEventListener("abort", leave, { once: true });
      this.#awaited.add(arrived);
    });
  }

  #connect() {
    this.#watch();
    const obstacle = socketObstacle(this.path);
    if (obstacle) return this.#await("away", obstacle.text, obstacle.missing);
    this.#endWaiting();
    const round = (this.#round += 1);
    this.#set("connecting", this.state === "away" || this.state === "refused" ? this.reason : "it is not connected yet");
    const socket = createConnection(this.path);
    // pi must be able to exit while it is connected.
    socket.unref();
    const connection = new RpcConnection(socket, this.#clock, {
      request: (method, params, id) => this.#owner.request(method, params, id),
      notification: (method, params) => this.#owner.notification(method, params),
      closed: (reason) => {
        if (round === this.#round) this.#lost(reason);
      },
    });
    this.#connection = connection;
    socket.on("connect", () => void this.#greet(connection, round));
  }

  /** @param {RpcConnection} connection @param {number} round */
  async #greet(connection, round) {
    const cancelLimit = this.#clock.after(greetingLimit, () => connection.close("the daemon did not answer the greeting"));
    try {
      await this.#owner.greet(connection);
    } catch (error) {
      if (round !== this.#round) return;
      if (!(error instanceof DaemonError)) return connection.close(error instanceof Error ? error.message : String(error));
      this.#round += 1;
      connection.close(error.message);
      this.#connection = undefined;
      this.#watch();
      return this.#await("refused", error.message, false);
    } finally {
      cancelLimit();
    }
    if (round !== this.#round) return;
    this.#connectedAt = this.#clock.now();
    this.#set("connected", "");
    for (const arrived of [...this.#awaited]) arrived();
  }

  /** @param {string} reason */
  #lost(reason) {
    this.#connection = undefined;
    if (this.isConnected && this.#clock.now() - this.#connectedAt >= workingTime) this.#backoff.reset();
    this.#watch();
    this.#await("away", reason, false);
  }

  /** Tries again when something changes where the socket is or would be. */
  #watch() {
    this.#endWaiting();
    this.#stopWatch = watchForSocket(this.path, () => this.#connect());
  }

  /**
   * Waits for the next attempt, which the watch has begun to look for. Where there is no socket the watch is enough; otherwise time is
   * needed, too: a daemon that is busy, or a socket that a killed one left.
   * @param {LinkState} state
   * @param {string} reason
   * @param {boolean} isMissing there is no socket
   */
  #await(state, reason, isMissing) {
    const wait = isMissing || state === "refused" ? longest : this.#backoff.next();
    if (!isMissing || !this.#stopWatch) this.#cancelRetry = this.#clock.after(wait, () => this.#connect());
    this.#set(state, reason);
  }

  /** @param {string} reason */
  #leave(reason) {
    this.#round += 1;
    this.#endWaiting();
    this.#connection?.end(reason);
    this.#connection = undefined;
  }

  #endWaiting() {
    this.#cancelRetry?.();
    this.#cancelRetry = undefined;
    this.#stopWatch?.();
    this.#stopWatch = undefined;
  }

  /** @param {LinkState} state @param {string} reason */
  #set(state, reason) {
    if (state === this.state && reason === this.reason) return;
    this.state = state;
    this.reason = reason;
    this.#owner.changed(state, reason);
  }
}
