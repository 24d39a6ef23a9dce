import { MessageOrigins } from "./message-origins.js";
import { sessionFacts } from "./session-facts.js";
import { Settings } from "./settings.js";
import { TurnRequester } from "./turn-requester.js";
import { DaemonSession, version } from "./daemon-session.js";

/** A session that a person started in a terminal: it registers with the daemon, follows its commands and reports its events. */
export class AttachedSession extends DaemonSession {
  origins = new MessageOrigins();
  requester = new TurnRequester();
  isCompacting = false;
  settings = new Settings({});
  /** @type {(message: string) => void} */
  compactionFailed = () => {};
  /** @type {ReturnType<typeof sessionFacts> | undefined} */
  #reported;
  /** @type {{ reason?: string, previousSessionFile?: string }} */
  #beginning = {};

  /**
   * Begins with a session of pi.
   * @param {any} event
   * @param {PiContext} ctx
   */
  begin(event, ctx) {
    this.#beginning = { reason: event?.reason, previousSessionFile: event?.previousSessionFile };
    this.enter(ctx);
    this.link.start();
  }

  /** @override @param {import("./rpc-connection.js").RpcConnection} connection */
  async greet(connection) {
    const ctx = this.context();
    const facts = sessionFacts(this.pi, ctx);
    this.#reported = facts;
    this.accept(
      await connection.request("session.attach", {
        version,
        pid: process.pid,
        ...facts,
        ...this.#beginning,
        isIdle: ctx.isIdle(),
        leafId: ctx.sessionManager.getLeafId(),
        bridge: this.settings.ofBridge,
      }),
    );
  }

  /** Tells the daemon which facts have changed since they were told last. */
  reportChanges() {
    const before = this.#reported;
    if (!before || !this.link.isConnected || !this.isEntered) return;
    const now = sessionFacts(this.pi, this.context());
    const changed = Object.entries(now).filter(([key, value]) => value !== before[/** @type {keyof typeof now} */ (key)]);
    if (changed.length === 0) return;
    this.#reported = now;
    // A fact that is no longer known is null, not left out.
    this.link.notify("session.changed", Object.fromEntries(changed.map(([key, value]) => [key, value ?? null])));
  }
}
