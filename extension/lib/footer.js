const key = "pi-relay";
/** A loss shorter than this is not announced, in milliseconds. */
const grace = 5_000;
/** The same announcement is made at most this often, in milliseconds. */
const announcementInterval = 60_000;

/** Shows in pi's footer how the session stands with the daemon, and announces when the daemon goes and comes back. */
export class Footer {
  /** @type {string | undefined} */
  #waiting;
  /** @type {string | undefined} */
  #shown;
  #isLossAnnounced = false;
  #hasConnected = false;
  /** @type {Map<string, number>} */
  #announced = new Map();
  /** @type {(() => void) | undefined} */
  #cancelLoss;
  #session;
  #clock;

  /**
   * @param {import("./attached-session.js").AttachedSession} session
   * @param {import("./clock.js").Clock} clock
   */
  constructor(session, clock) {
    this.#session = session;
    this.#clock = clock;
    session.observe((state) => this.#changed(state));
  }

  /**
   * Shows what a tool call waits for; undefined when it waits no more.
   * @param {string | undefined} text
   */
  showWaiting(text) {
    if (text === this.#waiting) return;
    this.#waiting = text;
    this.show();
  }

  show() {
    if (!this.#session.isEntered) return;
    const text = this.#session.settings.isOn("showStatus") ? this.text() : undefined;
    if (text === this.#shown) return;
    this.#shown = text;
    this.#session.withInterface((ui) => ui.setStatus(key, text));
  }

  text() {
    const { link, about } = this.#session;
    if (this.#waiting) return `relay: ${this.#waiting}`;
    switch (link.state) {
      case "connected": return `relay: ${about?.session.name} on ${about?.machine}`;
      case "connecting": return "relay: connecting";
      case "stopped": return "relay: disconnected";
      case "away": return `relay: ${link.reason}`;
      case "refused": return `relay: refused (${link.reason})`;
    }
  }

  /** @param {import("./daemon-link.js").LinkState} state */
  #changed(state) {
    // An attempt that fails changes nothing that a person has to see.
    if (state !== "connecting") this.show();
    if (state === "connected") {
      this.#cancelLoss?.();
      this.#cancelLoss = undefined;
      if (this.#isLossAnnounced) this.#announce("pi-relay: the daemon is back; chats can follow this session again.", "info");
      else if (!this.#hasConnected && this.#session.settings.isOn("notifyOnStart")) this.#announce(`pi-relay: ${this.text()}.`, "info");
      this.#isLossAnnounced = false;
      this.#hasConnected = true;
    } else if (state === "away" && this.#hasConnected && !this.#cancelLoss && !this.#isLossAnnounced) {
      this.#cancelLoss = this.#clock.after(grace, () => {
        this.#cancelLoss = undefined;
        const text = "pi-relay: the daemon is gone; chats cannot follow this session until it is back.";
        this.#isLossAnnounced = this.#announce(text, "warning");
      });
    } else if (state === "stopped") {
      this.#cancelLoss?.();
      this.#cancelLoss = undefined;
      this.#isLossAnnounced = false;
    }
  }

  /**
   * @param {string} text
   * @param {"info" | "warning"} kind
   * @returns {boolean} whether it was shown
   */
  #announce(text, kind) {
    const now = this.#clock.now();
    if (!this.#session.isEntered || now - (this.#announced.get(kind) ?? -Infinity) < announcementInterval) return false;
    this.#announced.set(kind, now);
    this.#session.withInterface((ui) => ui.notify(text, kind));
    return true;
  }
}
