import { guardToolCalls } from "./approval-gate.js";
import { AttachedSession } from "./attached-session.js";
import { ChildSession } from "./child-session.js";
import { mirrorActivity } from "./activity.js";
import { mirrorEvents } from "./event-mirror.js";
import { ExtensionCommands } from "./extension-commands.js";
import { Footer } from "./footer.js";
import { Pairings } from "./pairings.js";
import { PersonCommands } from "./person-commands.js";
import { PiCommands } from "./pi-commands.js";
import { PromptDelivery } from "./prompt-delivery.js";
import { Settings } from "./settings.js";
import { SlashText } from "./slash-text.js";
import { registerTools } from "./tools.js";

/**
 * A pi that the daemon started: tools, questions in pi's own dialogs, and the gate.
 * @param {PiAPI} pi
 * @param {import("./daemon-session.js").Surroundings} surroundings
 * @param {Record<string, string | undefined>} env
 */
export function activateChild(pi, surroundings, env) {
  const session = new ChildSession(pi, surroundings, String(env.PI_RELAY_SESSION), env.PI_RELAY_APPROVALS);
  registerTools(pi, session);
  guardToolCalls(pi, session, surroundings.clock, () => {});
  pi.on("session_start", () => session.link.start());
  pi.on("session_shutdown", () => session.link.stop("pi has ended this session"));
}

/**
 * A pi in a person's terminal: it joins the daemon where there is one.
 * @param {PiAPI} pi
 * @param {import("./daemon-session.js").Surroundings & { isTerminal: boolean }} surroundings
 * @param {Record<string, string | undefined>} env
 */
export function activateAttached(pi, surroundings, env) {
  const { clock } = surroundings;
  const session = new AttachedSession(pi, surroundings, env);
  const footer = new Footer(session, clock);
  const commands = new PersonCommands(pi, session, new Pairings(pi, session, clock));
  const slash = new SlashText(pi);
  const extensionCommands = new ExtensionCommands(pi, session.requester, clock);
  const delivery = new PromptDelivery(pi, session, clock);
  const piCommands = new PiCommands(pi, session, delivery, slash, extensionCommands, (name, line) => commands.runForChat(name, line));
  session.carryOut = (command, respond) => piCommands.carryOut(command, respond);

  mirrorEvents(pi, session, clock);
  mirrorActivity(pi, session);
  guardToolCalls(pi, session, clock, (text) => footer.showWaiting(text));
  pi.on("session_compact", () => slash.forgetSkills());

  // The model is told of the tools only where there is a daemon to use them.
  let hasTools = false;
  session.observe((state) => {
    if (state !== "connected" || hasTools) return;
    hasTools = true;
    session.withInterface(() => registerTools(pi, session));
  });

  const begin = (/** @type {any} */ event, /** @type {PiContext} */ ctx) => {
    slash.forgetSkills();
    session.settings = new Settings(env, ctx);
    if (!session.settings.isOn("enabled") || !isInteractive(ctx, surroundings.isTerminal)) return;
    session.begin(event, ctx);
  };
  const end = (/** @type {any} */ event) => {
    const params = { reason: event?.reason ?? "quit", targetSessionFile: event?.targetSessionFile };
    session.link.stop("pi has ended this session", { method: "session.detach", params });
    session.leave();
  };
  pi.on("session_start", begin);
  pi.on("session_shutdown", end);
  // Older releases keep the extension when the person changes the session.
  for (const [name, reason] of [["session_switch", "resume"], ["session_fork", "fork"]]) {
    pi.on(String(name), (event, ctx) => {
      end({ reason: event?.reason ?? reason });
      begin({ reason: event?.reason ?? reason, previousSessionFile: event?.previousSessionFile }, ctx);
    });
  }
}

/**
 * Tells whether a person sits at this pi: print and JSON mode run one prompt, and RPC mode belongs to the program that started it.
 * @param {PiContext} ctx
 * @param {boolean} isTerminal
 */
function isInteractive(ctx, isTerminal) {
  return ctx.mode === undefined ? ctx.hasUI && isTerminal : ctx.mode === "tui";
}
