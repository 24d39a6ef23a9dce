import { DaemonSession } from "./daemon-session.js";

/**
 * A session that the daemon started, or a pi within one. The daemon hears its events from pi itself; every turn is one of a chat.
 */
export class ChildSession extends DaemonSession {
  requester = { isRemote: true };
  #name;

  /**
   * @param {PiAPI} pi
   * @param {import("./daemon-session.js").Surroundings} surroundings
   * @param {string} name of the session, as the daemon knows it
   * @param {string | undefined} approvals `off` where the daemon has none
   */
  constructor(pi, surroundings, name, approvals) {
    super(pi, surroundings);
    this.#name = name;
    if (approvals === "off") this.approvals = { enabled: false, timeoutSeconds: 0 };
  }

  /** @override @param {import("./daemon-link.js").Dial} dial */
  greet(dial) {
    return this.openRequests(dial, this.#name);
  }
}
