// The cost of one event of pi in the extension, against JSON.stringify of it: nanoseconds of each, as JSON.
//   node extension_event.mjs SOCKET EVENTS
import { activate } from "../../extension/index.js";
import { systemClock } from "../../extension/lib/clock.js";

const [socket, events] = [process.argv[2], Number(process.argv[3])];
const handlers = new Map();
const pi = {
  on: (name, handler) => handlers.set(name, [...(handlers.get(name) ?? []), handler]),
  registerTool() {},
  registerCommand() {},
  getSessionName() {},
};
let connected;
const isConnected = new Promise((resolve) => (connected = resolve));
const ctx = {
  cwd: "/",
  mode: "tui",
  hasUI: true,
  ui: { notify() {}, setStatus: (_, text) => text === "relay: bench on bench" && connected() },
  sessionManager: { getSessionId: () => "bench", getSessionFile() {}, getLeafId: () => null },
  isIdle: () => true,
};
activate(pi, { env: { PI_RELAY_SOCKET: socket, HOME: "/" }, clock: systemClock, random: Math.random, isTerminal: true });
const emit = (type, event) => handlers.get(type)?.forEach((handler) => handler(event, ctx));
// The extension does not keep a program running.
const running = setInterval(() => {}, 1_000);
emit("session_start", { reason: "startup" });
await isConnected;

const deltas = ["word ", "a longer piece of text, ", 'with "quotes"\n', "é – 😀 "];
const eventOf = (number) => ({
  type: "message_update",
  assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: deltas[number % deltas.length] },
});
const burst = 50;

/**
 * Nanoseconds of an event: the median of bursts of 50, each with the turn of the event loop in which it is written. Between bursts
 * the program waits for a millisecond, so that the reader keeps up.
 */
async function measure(one) {
  const times = [];
  for (let first = 0; first < events; first += burst) {
    const began = process.hrtime.bigint();
    for (let number = first; number < first + burst; number += 1) one(eventOf(number));
    await new Promise((resolve) => setImmediate(resolve));
    times.push(Number(process.hrtime.bigint() - began));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return times.sort((one, other) => one - other)[times.length >> 1] / burst;
}

let length = 0;
const stringify = (event) => (length += JSON.stringify(event).length);
const mirror = (event) => emit("message_update", event);
await measure(stringify);
await measure(mirror);
const turn = await measure(() => {});
const figures = { event: (await measure(mirror)) - turn, stringify: (await measure(stringify)) - turn };
console.log(JSON.stringify(figures));
emit("session_shutdown", { reason: "quit" });
clearInterval(running);
