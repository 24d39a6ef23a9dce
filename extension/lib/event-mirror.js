import { droppableUpdates, updateLine } from "./event-line.js";
import { textOf } from "./message-origins.js";
import { shownModel } from "./session-facts.js";

/** Accumulated output of a tool is sent at most this often, in milliseconds. */
const toolUpdateInterval = 250;
/** A compaction of which no end was reported counts as ended after this time, in milliseconds. */
const compactionLimit = 300_000;

/** Events that are passed on as they are. */
const plainEvents = ["tool_execution_start", "tool_execution_end", "session_info_changed"];

/**
 * Sends pi's events to the daemon that follows, and keeps account of whose turn runs.
 *
 * No handler waits for anything: pi delays its own output until a handler returns.
 * @param {PiAPI} pi
 * @param {import("./attached-session.js").AttachedSession} session
 * @param {import("./clock.js").Clock} clock
 */
export function mirrorEvents(pi, session, clock) {
  const { origins, requester } = session;
  /** @param {Record<string, any>} event */
  const send = (event) => session.report(event);
  /** @type {import("./message-origins.js").Origin | undefined} */
  let userOrigin;
  /**
   * When the output of each running tool was sent last.
   * @type {Map<string, number>}
   */
  const toolUpdates = new Map();

  mirrorCompaction(pi, session, clock, send);
  for (const name of plainEvents) pi.on(name, (event) => send({ type: name, ...event }));
  pi.on("agent_start", () => {
    // pi answers a prompt before the run that it begins.
    origins.runBegan();
    send({ type: "agent_start" });
  });
  pi.on("turn_start", () => send({ type: "turn_start" }));

  pi.on("input", (event) => {
    if (event.source === "interactive") {
      origins.expect({ source: "interactive", text: String(event.text ?? ""), behavior: event.streamingBehavior });
    }
  });

  pi.on("message_start", (event) => {
    const message = event.message;
    if (message?.role !== "user") return send({ type: "message_start", message });
    userOrigin = origins.taken(textOf(message));
    if (userOrigin.source === "extension") requester.messageContinues();
    else requester.messageTaken(userOrigin.source === "relay" || !userOrigin.isCertain);
    // The source comes before the message: a reader that keeps only the beginning of a long line has it.
    send({ type: "message_start", source: userOrigin.source, message });
  });

  pi.on("message_update", (event) => {
    const update = event.assistantMessageEvent;
    if (session.stream && update) session.stream.send(updateLine(update), droppableUpdates.has(update.type));
  });

  pi.on("message_end", (event) => {
    const message = event.message;
    if (message?.role === "assistant") requester.assistantEnded(message.stopReason);
    if (message?.role !== "user") return send({ type: "message_end", message });
    send({ type: "message_end", source: userOrigin?.source, message });
  });

  pi.on("tool_execution_update", (event) => {
    const now = clock.now();
    if (!session.stream || now - (toolUpdates.get(event.toolCallId) ?? -Infinity) < toolUpdateInterval) return;
    toolUpdates.set(event.toolCallId, now);
    session.report({ type: "tool_execution_update", ...event }, true);
  });
  pi.on("tool_execution_end", (event) => void toolUpdates.delete(event.toolCallId));

  pi.on("turn_end", () => send({ type: "turn_end" }));
  // The daemon has heard the messages of the run one by one.
  pi.on("agent_end", (_, ctx) => {
    // pi does not tell an extension whether it tries again. Where it is not idle yet, as in newer releases, it says `agent_settled`
    // at the end of all, and the daemon waits for that.
    const settles = ctx.mode !== undefined && !ctx.isIdle();
    send({ type: "agent_end", ...(settles ? { willRetry: false } : {}) });
  });
  pi.on("agent_settled", (_, ctx) => {
    // A prompt that pi refuses beside a run reports that all has settled, and that pi is idle: the signal is that of the run.
    const isOver = ctx.isIdle() && ctx.signal === undefined;
    if (isOver) requester.settled();
    if (isOver && !ctx.hasPendingMessages()) origins.settled();
    send({ type: "agent_settled" });
  });

  // The names of pi's events for extensions: its RPC mode has none of these, or another.
  pi.on("model_select", (event) => send({ type: "model_select", model: shownModel(event.model) }));
  pi.on("thinking_level_select", (event) => {
    send({ type: "thinking_level_changed", level: event.level });
    send({ type: "thinking_level_select", level: event.level, previousLevel: event.previousLevel });
  });
  pi.on("session_tree", (event) => send({ type: "session_tree", newLeafId: event.newLeafId, oldLeafId: event.oldLeafId }));
}

/**
 * pi tells an extension when a compaction begins and when it has succeeded. That one has failed or was cancelled shows in its
 * signal, in an event of newer releases, or in what comes next.
 * @param {PiAPI} pi
 * @param {import("./attached-session.js").AttachedSession} session
 * @param {import("./clock.js").Clock} clock
 * @param {(event: Record<string, any>) => void} send
 */
function mirrorCompaction(pi, session, clock, send) {
  let cancelLimit = () => {};
  const end = (/** @type {object} */ outcome) => {
    if (!session.isCompacting) return;
    session.isCompacting = false;
    session.origins.compacted();
    cancelLimit();
    send({ type: "compaction_end", ...outcome });
  };
  session.compactionFailed = (message) => end({ aborted: true, willRetry: false, errorMessage: message });
  pi.on("session_before_compact", (event) => {
    session.isCompacting = true;
    cancelLimit();
    cancelLimit = clock.after(compactionLimit, () => end({ aborted: true, willRetry: false, errorMessage: "no end was reported" }));
    event.signal?.addEventListener("abort", () => end({ reason: event.reason, aborted: true, willRetry: false }), { once: true });
    send({ type: "compaction_start", reason: event.reason ?? "manual" });
  });
  pi.on("session_compact", (event) => {
    const { summary, firstKeptEntryId, tokensBefore } = event.compactionEntry ?? {};
    const result = { summary, firstKeptEntryId, tokensBefore };
    end({ reason: event.reason, result, aborted: false, willRetry: event.willRetry ?? false });
    send({ type: "session_compact", reason: event.reason, ...result });
  });
  pi.on("session_compact_failed", (event) => {
    end({ reason: event.reason, aborted: event.aborted ?? false, willRetry: event.willRetry ?? false, errorMessage: event.errorMessage });
  });
  // Releases without that event begin or end a run next.
  for (const name of ["agent_start", "agent_settled"]) pi.on(name, () => end({ aborted: true, willRetry: false }));
}
