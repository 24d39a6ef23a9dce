/** Names under which extensions publish what they do; the last two are those of an earlier bridge. */
const names = ["relay_activity", "vstack_activity", "kendex_activity"];
/** Keys of the global object at which extensions look for an object with `publish`. */
const brokers = ["kendex.pi.activity", "vstack.pi.activity"].map((name) => Symbol.for(name));
/** Activities that are kept for `recent`. */
const kept = 100;
const severities = new Set(["debug", "info", "success", "warning", "error"]);
const importances = new Set(["critical", "important", "normal", "noisy"]);
const longestText = 4_096;
/** For references, and for details: the longest JSON, in characters. */
const longestValue = 16_384;

/**
 * Passes on what other extensions publish on pi's event bus, without a message in the chat. Publishing never fails the caller.
 * @param {PiAPI} pi
 * @param {import("./attached-session.js").AttachedSession} session
 */
export function mirrorActivity(pi, session) {
  /** @type {object[]} */
  const recent = [];
  const publish = (/** @type {any} */ data) => {
    try {
      const event = activityOf(data);
      if (!event) return;
      const { type, kind, ...rest } = event;
      recent.unshift({ type: kind, ...rest });
      recent.length = Math.min(recent.length, kept);
      session.report(event);
    } catch {
      // An object that cannot be read is the publisher's mistake, not pi's.
    }
  };
  for (const name of names) pi.events?.on(name, publish);
  const broker = { publish, recent: (limit = kept) => recent.slice(0, limit) };
  const place = /** @type {Record<symbol, unknown>} */ (/** @type {unknown} */ (globalThis));
  // That of another bridge keeps its place.
  pi.on("session_start", () => brokers.forEach((name) => (place[name] ??= broker)));
  pi.on("session_shutdown", () => brokers.forEach((name) => place[name] === broker && delete place[name]));
}

/** @param {any} data */
function activityOf(data) {
  const text = (/** @type {unknown} */ value) => (typeof value === "string" ? value.slice(0, longestText) : undefined);
  const value = (/** @type {unknown} */ value) => {
    if (typeof value !== "object" || value === null) return undefined;
    try {
      const json = JSON.stringify(value);
      return json.length <= longestValue ? JSON.parse(json) : undefined;
    } catch {
      // What JSON cannot hold is left out; the rest is published.
      return undefined;
    }
  };
  const summary = text(data?.summary);
  if (!summary) return undefined;
  return {
    // The name by which programs of the earlier bridge know it.
    type: "kendex_activity",
    kind: text(data.type),
    source: text(data.source),
    severity: severities.has(data.severity) ? data.severity : "info",
    importance: importances.has(data.importance) ? data.importance : "normal",
    summary,
    body: text(data.body),
    refs: value(data.refs),
    details: value(data.details),
    ts: typeof data.ts === "number" || typeof data.ts === "string" ? data.ts : undefined,
  };
}
