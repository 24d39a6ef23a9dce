import { ChatDialogs } from "./chat-dialogs.js";
import { DaemonSession, version } from "./daemon-session.js";
import { eventLine } from "./event-line.js";
import { MessageOrigins } from "./message-origins.js";
import { PiStream } from "./pi-stream.js";
import { sessionFacts } from "./session-facts.js";
import { Settings } from "./settings.js";
import { TurnRequester } from "./turn-requester.js";

/**
 * A session that a person started in a terminal. It registers with the daemon, and is to it as a pi that the daemon started: its
 * stream carries commands and events, and the requests of the extension have a connection of their own.
 */
export class AttachedSession extends DaemonSession {
  origins = new MessageOrigins();
  requester = new TurnRequester();
  dialogs = new ChatDialogs((event) => this.report(event));
  isCompacting = false;
  settings = new Settings({});
  /** @type {(message: string) => void} */
  compactionFailed = () => {};
  /**
   * Carries out a command of the daemon.
   * @type {(command: any, respond: import("./pi-stream.js").Respond) => void}
   */
  carryOut = () => {};
  /**
   * Undefined while no daemon follows.
   * @type {PiStream | undefined}
   */
  stream;
  /** @type {{ reason?: string, previousSessionFile?: string }} */
  #beginning = {};
  #env;

  /**
   * @param {PiAPI} pi
   * @param {import("./daemon-session.js").Surroundings} surroundings
   * @param {Record<string, string | undefined>} env
   */
  constructor(pi, surroundings, env) {
    super(pi, surroundings);
    this.#env = env;
  }

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

  /** @override @param {import("./daemon-link.js").Dial} dial */
  async greet(dial) {
    const stream = await dial(
      (socket, closed) =>
        new PiStream(socket, {
          command: (command, respond) => {
            if (command?.type === "extension_ui_response") this.dialogs.answer(command);
            else this.carryOut(command, respond);
          },
          closed: (reason) => {
            this.stream = undefined;
            closed(reason);
            this.dialogs.lose(reason);
          },
        }),
    );
    const ctx = this.context();
    this.stream = stream;
    const { session } = await stream.attach({
      version,
      pid: process.pid,
      ...sessionFacts(this.pi, ctx),
      ...this.#beginning,
      isIdle: ctx.isIdle(),
      leafId: ctx.sessionManager.getLeafId(),
      bridge: {
        ...this.settings.ofBridge,
        parentSessionId: this.#env.PI_BRIDGE_PARENT_SESSION_ID || undefined,
        childRole: this.#env.PI_BRIDGE_CHILD_ROLE || undefined,
      },
    });
    const id = String(session?.id ?? "");
    // By it the daemon knows programs that leave pi's tree of processes: they may not decide about their own calls.
    this.#env.PI_RELAY_ATTACHED = String(process.pid);
    return this.openRequests(dial, id);
  }

  /**
   * Sends an event to the daemon that follows.
   * @param {Record<string, any>} event
   * @param {boolean} [mayBeDropped]
   */
  report(event, mayBeDropped) {
    if (!this.stream) return;
    try {
      this.stream.send(eventLine(event), mayBeDropped);
    } catch {
      // An event that JSON cannot hold, of another extension's making, is not pi's trouble.
    }
  }
}
