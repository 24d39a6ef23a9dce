import { DaemonError, NoAnswer } from "./rpc-connection.js";

/** The type of the entries in pi's history that say who is paired with the session. */
const entryType = "relay-binding";
/** The time for a connection and for a list, in milliseconds. */
const shortLimit = 5_000;
const choices = { Allow: "once", "Allow, and do not ask about this person again": "trust", Refuse: "deny" };

/**
 * A pairing as pi's history keeps it. It gives no right, has no code, and names neither the conversation nor the account.
 * @typedef {{ pairing: string, messenger: string, person: string, name?: string, since: number }} Known
 */

/**
 * The people who are paired with a terminal's session. The daemon decides who counts; pi's history keeps what it said last, for
 * times without a daemon and to say what has ended meanwhile.
 */
export class Pairings {
  #pi;
  #session;
  #clock;
  /** Lists are asked for one after the other, so that an older one is not noted last. */
  #noting = Promise.resolve();

  /**
   * @param {PiAPI} pi
   * @param {import("./attached-session.js").AttachedSession} session
   * @param {import("./clock.js").Clock} clock
   */
  constructor(pi, session, clock) {
    this.#pi = pi;
    this.#session = session;
    this.#clock = clock;
    session.pairingsChanged = () => this.#note();
    session.observe((state) => {
      if (state === "connected") this.#note();
    });
  }

  /**
   * Shows a code, and asks here about the person who sends it.
   * @param {string} messenger
   * @param {string} name for lists
   * @returns {Promise<string>} the instructions
   */
  async begin(messenger, name) {
    const { link } = this.#session;
    if (!this.#session.context().hasUI) throw new Error("nobody can be asked here about the person who sends the code");
    if (link.state === "stopped") {
      link.start();
      await link.whenConnected({ milliseconds: shortLimit });
    }
    const offer = await link.request("pairing.begin", { messenger, name: name || undefined });
    this.#follow(String(offer?.pairing)).catch((error) => {
      // The daemon takes back a code whose connection is lost.
      const reason = error instanceof NoAnswer ? `the code is void: ${error.message}` : String(error?.message ?? error);
      this.#show(`pi-relay: ${reason}`, "error");
    });
    return (offer?.lines ?? []).join("\n");
  }

  /** @returns {Promise<string>} */
  async list() {
    const { pairings = [], trusted = [] } = await this.#session.link.request("pairing.list", {});
    const lines = [
      ...pairings.map((/** @type {any} */ one) => `${label(known(one))}, id ${one.person}`),
      ...trusted.map((/** @type {any} */ one) => `${one.name} on ${one.instance}, id ${one.person}: trusted`),
    ];
    return lines.join("\n") || "Nobody is paired with this session, and nobody is trusted.";
  }

  /** @param {string | undefined} messenger @param {string | undefined} user @returns {Promise<string>} */
  async untrust(messenger, user) {
    if (!messenger || !user) throw new Error("write: /relay untrust MESSENGER USER-ID; /relay trusted has the ids");
    await this.#session.link.request("pairing.untrust", { messenger, user });
    return `${user} is no longer trusted on ${messenger}.`;
  }

  /** The lines of the status: what the daemon said last. */
  get lines() {
    return this.#known.map((one) => `${this.#session.link.isConnected ? "paired" : "paired when last connected"}: ${label(one)}`);
  }

  /** The daemon has ended every pairing of the session. */
  forget() {
    if (this.#known.length > 0) this.#keep([]);
  }

  /** @param {string} pairing */
  async #follow(pairing) {
    for (;;) {
      const step = await this.#session.link.request("pairing.wait", { pairing }, { milliseconds: null });
      if (step?.kind !== "asked") return this.#show(`pi-relay: ${step?.text}`, step?.kind === "paired" ? "info" : "warning");
      await this.#decide(pairing, step);
    }
  }

  /** @param {string} pairing @param {{ text: string, withinSeconds?: number }} step */
  async #decide(pairing, step) {
    const over = new AbortController();
    const cancel = this.#clock.after((step.withinSeconds ?? 30) * 1_000, () => over.abort());
    const choice = await this.#session.context().ui.select(step.text, Object.keys(choices), { signal: over.signal });
    cancel();
    // The daemon has told the person, and the code may be sent again.
    if (over.signal.aborted) return;
    const decision = Object.entries(choices).find(([text]) => text === choice)?.[1] ?? "deny";
    await this.#session.link.request("pairing.decide", { pairing, decision }).catch((error) => {
      if (!(error instanceof DaemonError)) throw error;
      this.#show(`pi-relay: ${error.message}`, "warning");
    });
  }

  /** Keeps in pi's history what the daemon says, and tells what has ended. */
  #note() {
    this.#noting = this.#noting.then(async () => {
      try {
        const { pairings = [] } = await this.#session.link.request("pairing.list", {}, { milliseconds: shortLimit });
        const [before, now] = [this.#known, pairings.map(known)];
        if (JSON.stringify(before) === JSON.stringify(now)) return;
        this.#keep(now);
        for (const one of before) {
          if (!now.some((/** @type {Known} */ other) => isSame(one, other))) this.#show(`pi-relay: ${label(one)} is no longer paired.`, "info");
        }
      } catch {
        // The next connection asks again.
      }
    });
  }

  /** @param {Known[]} bindings */
  #keep(bindings) {
    this.#session.context();
    this.#pi.appendEntry?.(entryType, { version: 1, bindings });
  }

  /** @returns {Known[]} */
  get #known() {
    try {
      const entries = this.#session.context().sessionManager.getBranch();
      const last = entries.filter((one) => one.type === "custom" && one.customType === entryType).at(-1);
      const bindings = last?.data?.version === 1 ? last.data.bindings : [];
      return Array.isArray(bindings) ? bindings.filter((one) => typeof one?.person === "string") : [];
    } catch {
      return [];
    }
  }

  /** @param {string} text @param {"info" | "warning" | "error"} kind */
  #show(text, kind) {
    this.#session.withInterface((ui) => ui.notify(text, kind));
  }
}

/** @param {any} pairing of the daemon @returns {Known} */
function known({ id, conversation, name, label, createdAt }) {
  return { pairing: id, messenger: String(conversation?.instance ?? ""), person: name, name: label, since: Math.floor(createdAt) };
}

/**
 * A pairing that has moved to another session has another id.
 * @param {Known} one
 * @param {Known} other
 */
function isSame(one, other) {
  return one.messenger === other.messenger && one.person === other.person && one.since === other.since;
}

/** @param {Known} one */
function label({ person, messenger, name }) {
  return `${person} on ${messenger}${name ? ` ("${name}")` : ""}`;
}
