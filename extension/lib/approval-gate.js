import { fitsIntoLine, maximumLine } from "./line-socket.js";
import { NoAnswer, Withdrawn } from "./rpc-connection.js";

/** The time in which a daemon that is being restarted comes back, in milliseconds. */
const returnLimit = 20_000;
/** Time for the answer to travel once the daemon has decided, in milliseconds. */
const margin = 5_000;
/** Texts in the input of a tool are cut to this length where the whole does not fit into a line. */
const longestText = 65_536;

/**
 * Asks the daemon before each tool call of a turn that a chat asked for. Nothing but its `allow` lets a call through: without
 * an answer the call is blocked. A daemon that had no approvals when it left is not waited for. Calls of turns that began in the
 * terminal never wait.
 * @param {PiAPI} pi
 * @param {import("./daemon-session.js").DaemonSession & { requester: { isRemote: boolean } }} session
 * @param {import("./clock.js").Clock} clock
 * @param {(text: string | undefined) => void} showWaiting
 */
export function guardToolCalls(pi, session, clock, showWaiting) {
  pi.on("tool_call", async (event, ctx) => {
    if (!session.requester.isRemote) return undefined;
    // A daemon answers at once where no rule matches: only a person's decision is worth a word.
    const cancelNote = clock.after(500, () => showWaiting(`waits for approval of ${event.toolName}`));
    try {
      const { decision, reason } = await decide(session, event, ctx, clock);
      return decision === "allow" ? undefined : { block: true, reason: reason || "The person did not approve this call." };
    } catch (error) {
      return { block: true, reason: `Not approved: ${error instanceof Error ? error.message : String(error)}.` };
    } finally {
      cancelNote();
      showWaiting(undefined);
    }
  });
}

/**
 * @param {import("./daemon-session.js").DaemonSession} session
 * @param {any} event
 * @param {PiContext} ctx
 * @param {import("./clock.js").Clock} clock
 * @returns {Promise<{ decision?: unknown, reason?: string }>}
 */
async function decide(session, event, ctx, clock) {
  const question = { call: event.toolCallId, tool: event.toolName, cwd: ctx.cwd, ...boundedInput(event.input) };
  let end = Infinity;
  if (!session.link.isConnected && session.approvals?.enabled === false) return { decision: "allow" };
  for (;;) {
    const remaining = end - clock.now();
    const patience = Math.min(returnLimit, remaining);
    if (!(await session.link.whenConnected({ milliseconds: patience, signal: ctx.signal }))) {
      throw new Error(ctx.signal?.aborted ? "the run was stopped" : `pi-relay cannot ask, because ${session.link.reason}`);
    }
    const limit = (session.approvals?.timeoutSeconds ?? 120) * 1_000 + margin;
    end = Math.min(end, clock.now() + limit);
    const milliseconds = end - clock.now();
    const withinSeconds = Math.max(1, Math.floor((milliseconds - margin) / 1_000));
    try {
      return (await session.link.request("extension.approve", { ...question, withinSeconds }, { milliseconds, signal: ctx.signal })) ?? {};
    } catch (error) {
      if (error instanceof Withdrawn) throw new Error("the run was stopped");
      // A question that the connection took with it is asked anew; an answer to the earlier one has no effect.
      if (!(error instanceof NoAnswer) || clock.now() >= end) throw error;
    }
  }
}

/**
 * The input of a tool as it is, or with its texts cut and `truncated`, with which the daemon cannot rule out that a rule matches.
 * @param {any} input
 */
function boundedInput(input) {
  const whole = JSON.stringify(input) ?? "null";
  if (fitsIntoLine(whole, maximumLine - 8_192)) return { input };
  return { input: cut(input), truncated: true };
}

/** @param {any} value @returns {any} */
function cut(value) {
  if (typeof value === "string") return value.slice(0, longestText);
  if (Array.isArray(value)) return value.slice(0, 8).map(cut);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).slice(0, 8).map(([key, one]) => [key.slice(0, 256), cut(one)]));
}
