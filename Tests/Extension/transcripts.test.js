import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { scene } from "./support/scene.js";

// Recordings of `pi --mode rpc`: events that an extension sees must reach the daemon as pi itself would have written them.
const folder = new URL("../Transcripts/current/", import.meta.url);
const mirrored = new Set(
  (
    "agent_start agent_end agent_settled turn_start turn_end message_start message_update message_end tool_execution_start " +
    "tool_execution_update tool_execution_end session_info_changed"
  ).split(" "),
);

/** The event that the daemon hears for one that pi wrote: without usage in updates and without repeated messages, and with the source. */
function heard(event) {
  switch (event.type) {
    case "message_update": return { type: event.type, assistantMessageEvent: event.assistantMessageEvent };
    case "agent_end": return { type: event.type };
    case "turn_end": return { type: event.type };
    case "message_start":
    case "message_end": return event.message.role === "user" ? { ...event, source: "extension" } : event;
    default: return event;
  }
}

for (const name of readdirSync(folder)) {
  test(`the events of ${name} are passed on as pi's RPC mode writes them`, async (t) => {
    const one = scene(t);
    await one.connect();
    const lines = readFileSync(new URL(name, folder), "utf8").split("\n").filter((line) => line.startsWith("{"));
    const events = lines.map((line) => JSON.parse(line)).filter((event) => mirrored.has(event.type));
    for (const { type, ...event } of events) {
      // An extension gets the message so far, too, which is not passed on.
      const partial = { role: "assistant", content: "so far" };
      if (type === "message_update") {
        Object.assign(event, { message: partial, assistantMessageEvent: { ...event.assistantMessageEvent, partial } });
      }
      one.clock.advance(1_000);
      await one.pi.emit(type, event);
    }
    await one.daemon.command({ type: "get_state" });
    const expected = events.map((event) => JSON.parse(JSON.stringify(heard(event))));
    assert.deepEqual(one.daemon.events, expected);
  });
}
