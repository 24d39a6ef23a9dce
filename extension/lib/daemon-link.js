import { createConnection } from "node:net";
import { Backoff, longest } from "./backoff.js";
import { DaemonError, NoAnswer } from "./rpc-connection.js";
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
 * @typedef {{ end(reason: string): void, close(reason: string): void }} Connection
 * @typedef {<One extends Connection>(make: (socket: import("node:net").Socket, closed: (reason: string) => void) => One) => Promise<One>} Dial
 * `greet` opens the connections of a session with `dial`, and returns that of the requests.
 * @typedef {{
 *   greet(dial: Dial): Promise<import("./rpc-connection.js").RpcConnection>,
 *   changed(state: LinkState, reason: string): void,
 * }} LinkOwner
 */

/**
 * The connections to the daemon, which are one: all are lost with the first, and made again. Without a daemon the link waits for a
 * change of the folder.
 */
export class DaemonLink {
  /** @type {LinkState} */
  state = "stopped";
  reason = "not started";
  /** @type {import("./rpc-connection.js").RpcConnection | undefined} */
  #requests;
  /** @type {Connection[]} */
  #connections = [];
  /** Counts attempts, so that a late event of an earlier one is ignored. */
  #round = 0;
  #connectedAt = 0;
  /** @type {(() => void) | undefined} */
  #cancelRetry;
  /** @type {(() => void) | undefined} */
  #stopWatch;
  /**
   * Those who wait for a connection: told whether there is one.
   * @type {Set<(isConnected: boolean) => void>}
   */
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
   * @param {{ method: string, params: object }} [farewell] is written before any connection ends
   */
  stop(reason, farewell) {
    if (farewell) this.#requests?.tell(farewell.method, farewell.params);
    this.#leave(reason);
    this.#set("stopped", reason);
    for (const finish of [...this.#awaited]) finish(false);
  }

  /**
   * @param {string} method
   * @param {object} params
   * @param {{ milliseconds?: number | null, signal?: AbortSignal }} [options] `milliseconds: null` for no time limit
   */
  request(method, params, options = {}) {
    const { milliseconds = answerLimit, signal } = options;
    if (!this.#requests) return Promise.reject(new NoAnswer(this.reason));
    return this.#requests.request(method, params, { milliseconds: milliseconds ?? undefined, signal });
  }

  /**
   * Waits for a connection.
   * @param {{ milliseconds?: number, signal?: AbortSignal }} options
   * @returns {Promise<boolean>} false when the time was over, the signal came or the link was stopped
   */
  whenConnected({ milliseconds, signal }) {
    if (this.isConnected) return Promise.resolve(true);
    if (signal?.aborted || this.state === "stopped") return Promise.resolve(false);
    return new Promise((resolve) => {
      /** @param {boolean} isConnected */
      const finish = (isConnected) => {
        this.#awaited.delete(finish);
        cancel?.();
        signal?.removeEventListener("abort", leave);
        resolve(isConnected);
      };
      const leave = () => finish(false);
      const cancel = milliseconds === undefined ? undefined : this.#clock.after(milliseconds, leave);
      signal?.addEventListener("abort", leave, { once: true });
      this.#awaited.add(finish);
    });
  }

  #connect() {
    this.#watch();
    const obstacle = socketObstacle(this.path);
    if (obstacle) return this.#planAttempt("away", obstacle.text, obstacle.missing);
    this.#endWaiting();
    this.#round += 1;
    this.#set("connecting", this.state === "away" || this.state === "refused" ? this.reason : "it is not connected yet");
    void this.#greet(this.#round);
  }

  /** @param {number} round */
  async #greet(round) {
    let cancelLimit = () => {};
    try {
      const requests = await this.#owner.greet(async (make) => {
        const connection = await this.#dial(round, make);
        cancelLimit();
        cancelLimit = this.#clock.after(greetingLimit, () => this.#lost(round, "away", "the daemon did not answer the greeting"));
        return connection;
      });
      if (round !== this.#round) return;
      this.#requests = requests;
    } catch (error) {
      return this.#lost(round, error instanceof DaemonError ? "refused" : "away", error instanceof Error ? error.message : String(error));
    } finally {
      cancelLimit();
    }
    this.#connectedAt = this.#clock.now();
    this.#set("connected", "");
    for (const finish of [...this.#awaited]) finish(true);
  }

  /**
   * Opens a connection, which belongs to this attempt: where it is lost, all are.
   * @template {Connection} One
   * @param {number} round
   * @param {(socket: import("node:net").Socket, closed: (reason: string) => void) => One} make
   * @returns {Promise<One>}
   */
  #dial(round, make) {
    return new Promise((resolve, reject) => {
      const socket = createConnection(this.path);
      // pi must be able to exit while it is connected.
      socket.unref();
      const connection = make(socket, (reason) => {
        reject(new NoAnswer(reason));
        this.#lost(round, "away", reason);
      });
      this.#connections.push(connection);
      socket.on("connect", () => resolve(connection));
    });
  }

  /** @param {number} round @param {LinkState} state @param {string} reason */
  #lost(round, state, reason) {
    if (round !== this.#round) return;
    if (this.isConnected && this.#clock.now() - this.#connectedAt >= workingTime) this.#backoff.reset();
    for (const connection of this.#forget()) connection.close(reason);
    this.#watch();
    this.#planAttempt(state, reason, false);
  }

  /** Ends the attempt: nothing that comes of its connections counts any more. */
  #forget() {
    const connections = this.#connections;
    this.#round += 1;
    this.#connections = [];
    this.#requests = undefined;
    return connections;
  }

  /** Tries again when something changes where the socket is or would be. */
  #watch() {
    this.#endWaiting();
    this.#stopWatch = watchForSocket(this.path, () => this.#connect());
  }

  /**
   * Plans the next attempt. Where there is no socket the watch is enough. Otherwise it takes time, too: the daemon may be busy or
   * refuse, or the socket be that of a killed one.
   * @param {LinkState} state
   * @param {string} reason
   * @param {boolean} isMissing there is no socket
   */
  #planAttempt(state, reason, isMissing) {
    if (!isMissing || !this.#stopWatch) {
      this.#cancelRetry = this.#clock.after(isMissing ? longest : this.#backoff.next(), () => this.#connect());
    }
    this.#set(state, reason);
  }

  /** @param {string} reason */
  #leave(reason) {
    this.#endWaiting();
    // The farewell is on the connection that was opened last.
    for (const connection of this.#forget().reverse()) connection.end(reason);
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
