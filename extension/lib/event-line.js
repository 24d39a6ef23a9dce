import { fitsIntoLine } from "./line-socket.js";

// The lines of events, in the shape of `pi --mode rpc`: an update carries its delta only, and the events that end a turn or a
// run do not repeat the messages before.

/** Texts of an event that is too long are cut to these lengths in turn. */
const cuts = [65_536, 4_096, 256];

/**
 * The line of an event. One that is too long for a line loses images, then the ends of its texts, and says so.
 * @param {Record<string, any>} event
 */
export function eventLine(event) {
  const text = JSON.stringify(event);
  if (fitsIntoLine(text)) return `${text}\n`;
  const originalBytes = Buffer.byteLength(text);
  for (const longest of [Infinity, ...cuts]) {
    const shorter = JSON.stringify({ ...shorten(event, longest), truncated: true, originalBytes });
    if (fitsIntoLine(shorter)) return `${shorter}\n`;
  }
  return `${JSON.stringify({ type: event.type, truncated: true, originalBytes })}\n`;
}

/**
 * A copy without the data of images and with texts of at most `longest` characters.
 * @param {any} value
 * @param {number} longest
 * @returns {any}
 */
function shorten(value, longest) {
  if (typeof value === "string") return value.length <= longest ? value : `${value.slice(0, longest)}…`;
  if (Array.isArray(value)) return value.map((one) => shorten(one, longest));
  if (value === null || typeof value !== "object") return value;
  if (value.type === "image" && typeof value.data === "string") return { ...value, data: "", omittedCharacters: value.data.length };
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shorten(one, longest)]));
}

/**
 * The line of an update of the assistant's message, without the message so far (`partial`, `message`).
 * @param {{ type: string, contentIndex?: number, delta?: string, partial?: unknown, message?: unknown }} update
 */
export function updateLine(update) {
  const { type, contentIndex = 0, delta } = update;
  if (typeof delta === "string") {
    // The hot path: the same text as below, with one call of stringify for the only part that needs it.
    const head = `{"type":"message_update","assistantMessageEvent":{"type":"${type}","contentIndex":${contentIndex},"delta":`;
    return `${head}${JSON.stringify(delta)}}}\n`;
  }
  const { partial, message, ...rest } = update;
  return eventLine({ type: "message_update", assistantMessageEvent: rest });
}

/** Updates that a slow daemon may miss: `message_end` has the whole text. */
export const droppableUpdates = new Set(["text_delta", "thinking_delta", "toolcall_delta"]);
