import { DaemonLink } from "./daemon-link.js";
import { RpcConnection } from "./rpc-connection.js";

/** The version of the extension, which is that of the package. */
export const version = "0.1.0";

/**
 * @typedef {{ enabled: boolean, timeoutSeconds: number }} ApprovalSettings
 * @typedef {{ machine: string, session: { id: string, name: string } }} About
 * @typedef {{ path: string, clock: import("./clock.js").Clock, random: () => number }} Surroundings
 */

/** A session of pi and its connection to the daemon: common to those that the daemon started and those of a terminal. */
export class DaemonSession {
  /**
   * The names that the daemon gave at the last greeting.
   * @type {About | undefined}
   */
  about;
  /**
   * Undefined until the daemon has told.
   * @type {ApprovalSettings | undefined}
   */
  approvals;
  /** The daemon has other people paired with this session. */
  pairingsChanged = () => {};
  /** @type {PiContext | undefined} */
  #ctx;
  /** @type {Set<(state: import("./daemon-link.js").LinkState) => void>} */
  #observers = new Set();
  #clock;

  /**
   * @param {PiAPI} pi
   * @param {Surroundings} surroundings
   */
  constructor(pi, surroundings) {
    this.pi = pi;
    this.#clock = surroundings.clock;
    this.link = new DaemonLink(surroundings.path, surroundings, {
      greet: (dial) => this.greet(dial),
      changed: (state) => this.#observers.forEach((observer) => observer(state)),
    });
  }

  /** @param {(state: import("./daemon-link.js").LinkState) => void} observer */
  observe(observer) {
    this.#observers.add(observer);
  }

  /** @param {PiContext} ctx */
  enter(ctx) {
    this.#ctx = ctx;
  }

  /** pi's session is over: its context must not be used any more. */
  leave() {
    this.#ctx = undefined;
  }

  get isEntered() {
    return this.#ctx !== undefined;
  }

  /** @returns {PiContext} */
  context() {
    if (!this.#ctx) throw new Error("pi has ended this session");
    return this.#ctx;
  }

  /**
   * Uses pi's interface outside of a handler, where an error would end pi: a context that pi has given up throws.
   * @param {(ui: PiInterface) => void} use
   */
  withInterface(use) {
    try {
      if (this.#ctx) use(this.#ctx.ui);
    } catch {
      // There is nobody left to be shown it.
    }
  }

  /** @param {import("./daemon-link.js").Dial} _dial @returns {Promise<RpcConnection>} */
  greet(_dial) {
    throw new Error("a session has its own greeting");
  }

  /**
   * Opens the connection of the requests.
   * @param {import("./daemon-link.js").Dial} dial
   * @param {string} session as the daemon knows it
   */
  async openRequests(dial, session) {
    const requests = await dial(
      (socket, closed) =>
        new RpcConnection(socket, this.#clock, {
          notification: (method, params) => {
            if (method === "extension.settings") this.#read(params);
            if (method === "pairing.changed") this.pairingsChanged();
          },
          closed,
        }),
    );
    this.accept(await requests.request("extension.hello", { version, session, pid: process.pid }));
    return requests;
  }

  /** @param {any} answer of the daemon to a greeting */
  accept(answer) {
    this.about = {
      machine: String(answer?.machine ?? ""),
      session: { id: String(answer?.session?.id ?? ""), name: String(answer?.session?.name ?? "") },
    };
    this.#read(answer);
  }

  /** @param {any} settings */
  #read(settings) {
    const { enabled, timeoutSeconds } = settings?.approvals ?? {};
    // Anything but a clear no means that tool calls have to be asked for.
    this.approvals = { enabled: enabled !== false, timeoutSeconds: timeoutSeconds > 0 ? Number(timeoutSeconds) : 120 };
  }
}
