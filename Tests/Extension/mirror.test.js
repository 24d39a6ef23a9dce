import assert from "node:assert/strict";
import { test } from "node:test";
import { eventLine, updateLine } from "../../extension/lib/event-line.js";
import { MessageOrigins } from "../../extension/lib/message-origins.js";
import { hardLimit } from "../../extension/lib/outgoing-lines.js";
import { scene } from "./support/scene.js";

test("a turn is reported in the shape of pi's RPC mode, with deltas only", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.type("hello");
  await pi.answerWith("Hi \u2028 there");
  await pi.emit("turn_end", { message: {}, toolResults: [] });
  await pi.endRun();
  await daemon.event("agent_settled");
  const user = { role: "user", content: [{ type: "text", text: "hello" }], timestamp: 1_795_329_858_444 };
  const assistant = { role: "assistant", content: [{ type: "text", text: "Hi \u2028 there" }], stopReason: "stop" };
  assert.deepEqual(daemon.events, [
    { type: "agent_start" },
    { type: "turn_start" },
    { type: "message_start", source: "interactive", message: user },
    { type: "message_end", source: "interactive", message: user },
    { type: "message_start", message: { ...assistant, content: [] } },
    { type: "message_update", assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: "Hi \u2028 there" } },
    { type: "message_end", message: assistant },
    { type: "turn_end" },
    { type: "agent_end", willRetry: false },
    { type: "agent_settled" },
  ]);
});

test("a release of pi that is idle at the end of a run, or may be, is not said to settle later", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.emit("agent_end", { messages: [] });
  assert.deepEqual(await daemon.event("agent_end"), { type: "agent_end" });
  pi.isIdle = false;
  pi.ctx.mode = undefined;
  await pi.emit("agent_end", { messages: [] });
  assert.deepEqual(await daemon.event("agent_end"), { type: "agent_end" });
});

test("an update without a delta keeps its content and its tool call", () => {
  const end = { type: "text_end", contentIndex: 1, content: "all", partial: { role: "assistant" } };
  assert.deepEqual(JSON.parse(updateLine(end)), { type: "message_update", assistantMessageEvent: { type: "text_end", contentIndex: 1, content: "all" } });
  const call = { type: "toolcall_end", contentIndex: 0, toolCall: { id: "c1", name: "bash" } };
  assert.deepEqual(JSON.parse(updateLine(call)).assistantMessageEvent, call);
  const start = { type: "toolcall_start", contentIndex: 0, id: "c1", toolName: "bash" };
  assert.deepEqual(JSON.parse(updateLine({ ...start, partial: {}, message: {} })).assistantMessageEvent, start);
});

test("a message of the daemon and one that is typed name their sources before the message", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await daemon.command({ type: "prompt", message: "same words" });
  for (const type of ["message_start", "message_end"]) {
    const event = await daemon.event(type);
    assert.deepEqual(Object.entries(event).slice(0, 2), [["type", type], ["source", "relay"]]);
    assert.deepEqual(Object.keys(event), ["type", "source", "message"]);
  }
  await pi.answerWith("done");
  await pi.endRun();
  // The same text, typed by the person right afterwards, is no echo.
  await pi.type("same words");
  const second = await daemon.event("message_start", ({ message }) => message.role === "user");
  assert.equal(second.source, "interactive");
});

test("two equal messages of different sources are told apart by their order", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.type("work");
  await pi.emit("input", { text: "go on", source: "interactive", streamingBehavior: "followUp" });
  await daemon.command({ id: "p2", type: "follow_up", message: "go on" });
  await pi.takeMessage("go on");
  await pi.takeMessage("go on");
  const taken = daemon.until(() => daemon.events.filter((one) => one.type === "message_start").length === 3 && daemon.events);
  const sources = (await taken).filter((one) => one.type === "message_start").map((one) => one.source);
  assert.deepEqual(sources, ["interactive", "interactive", "relay"]);
});

test("of two equal messages the one that steers is taken first", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.type("work");
  await daemon.command({ id: "p2", type: "follow_up", message: "go on" });
  await pi.emit("input", { text: "go on", source: "interactive", streamingBehavior: "steer" });
  await daemon.event("message_start");
  await pi.takeMessage("go on");
  assert.equal((await daemon.event("message_start")).source, "interactive");
});

test("a message that waits in pi is still expected however often pi settles", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.type("work");
  await daemon.event("message_start");
  await daemon.command({ id: "p2", type: "follow_up", message: "later" });
  for (let count = 0; count < 3; count += 1) await pi.emit("agent_settled");
  await pi.takeMessage("later");
  assert.equal((await daemon.event("message_start")).source, "relay");
});

test("a message that is given to pi while it settles is expected; one that never came is forgotten at the next time", () => {
  const origins = new MessageOrigins();
  origins.expect({ source: "relay", text: "now" });
  origins.settled();
  assert.deepEqual(origins.taken("now"), { source: "relay", isCertain: true });
  origins.expect({ source: "interactive", text: "swallowed" });
  origins.settled();
  origins.settled();
  assert.equal(origins.taken("swallowed").source, "extension");
});

test("the messages of the terminal that never came are bounded, those of the daemon are kept", () => {
  const origins = new MessageOrigins();
  origins.expect({ source: "relay", text: "from a chat" });
  for (let count = 0; count < 300; count += 1) origins.expect({ source: "interactive", text: `typed ${count}` });
  assert.equal(origins.taken("from a chat").source, "relay");
  let kept = 0;
  while (origins.taken("none").source === "interactive") kept += 1;
  assert.equal(kept, 199);
});

test("a template that was typed is of the terminal although pi has changed its text", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.emit("input", { text: "/review a.js", source: "interactive" });
  await pi.beginRun("Review a.js with care.");
  assert.equal((await daemon.event("message_start")).source, "interactive");
});

test("a message of another extension is named as such", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.beginRun("every hour");
  assert.equal((await daemon.event("message_start")).source, "extension");
});

test("nothing is serialised while there is no daemon, at first and after its loss", async (t) => {
  const one = scene(t);
  let read = 0;
  const message = { role: "assistant", toJSON: () => (read += 1) };
  const assistantMessageEvent = { type: "text_delta", get delta() { return (read += 1); } };
  const happen = async () => {
    await one.pi.emit("message_end", { message });
    await one.pi.emit("message_update", { message, assistantMessageEvent });
  };
  await one.pi.emit("session_start");
  await happen();
  await one.connect();
  await one.loseDaemon();
  await happen();
  assert.equal(read, 0);
});

test("an event that cannot be serialised does not reach pi as an error", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.emit("tool_execution_start", { toolName: "x", args: { big: 1n } });
  await pi.emit("turn_start");
  await daemon.event("turn_start");
});

test("a tool's accumulated output is sent four times a second at most, its result always", async (t) => {
  const { connect, pi, daemon, clock } = scene(t);
  await connect();
  const update = (text) => pi.emit("tool_execution_update", { toolCallId: "c1", toolName: "bash", partialResult: { content: [{ type: "text", text }] } });
  await update("1");
  await update("12");
  clock.advance(250);
  await update("123");
  await pi.emit("tool_execution_end", { toolCallId: "c1", toolName: "bash", result: { content: [] }, isError: false });
  await update("another call of this name");
  await pi.emit("turn_start");
  await daemon.event("turn_start");
  assert.equal(daemon.events.filter((one) => one.type === "tool_execution_end").length, 1);
  const texts = daemon.events.flatMap((one) => (one.type === "tool_execution_update" ? [one.partialResult.content[0].text] : []));
  assert.deepEqual(texts, ["1", "123", "another call of this name"]);
});

test("an event that is too long for a line loses its images first, then the ends of its texts, and says so", () => {
  const image = { type: "image", mimeType: "image/png", data: "a".repeat(2 << 20) };
  const withImage = JSON.parse(eventLine({ type: "message_end", message: { role: "toolResult", content: [{ type: "text", text: "x".repeat(100_000) }, image] } }));
  assert.deepEqual(withImage.message.content[1], { type: "image", mimeType: "image/png", data: "", omittedCharacters: 2 << 20 });
  assert.equal(withImage.message.content[0].text.length, 100_000);
  assert.equal(withImage.truncated, true);
  const long = eventLine({ type: "message_end", message: { role: "assistant", content: [{ type: "text", text: "é".repeat(1 << 20) }] } });
  assert.ok(Buffer.byteLength(long) <= 1 << 20);
  assert.equal(JSON.parse(long).message.content[0].text.length, 65_537);
  const wide = eventLine({ type: "message_end", message: { role: "assistant", content: [{ type: "text", text: "é".repeat(600_000) }] } });
  assert.ok(Buffer.byteLength(wide) <= 1 << 20);
  const many = eventLine({ type: "message_end", message: { content: Array.from({ length: 40_000 }, () => ({ text: "y".repeat(300) })) } });
  assert.deepEqual(Object.keys(JSON.parse(many)), ["type", "truncated", "originalBytes"]);
});

test("a compaction is reported with its end, also when it is cancelled", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.emit("session_before_compact", { reason: "threshold" });
  await pi.emit("session_compact", { reason: "threshold", compactionEntry: { summary: "s", firstKeptEntryId: "e1", tokensBefore: 9 } });
  assert.equal((await daemon.event("compaction_start")).reason, "threshold");
  assert.deepEqual(await daemon.event("compaction_end"), {
    type: "compaction_end",
    reason: "threshold",
    result: { summary: "s", firstKeptEntryId: "e1", tokensBefore: 9 },
    aborted: false,
    willRetry: false,
  });
  assert.deepEqual(await daemon.event("session_compact"), { type: "session_compact", reason: "threshold", summary: "s", firstKeptEntryId: "e1", tokensBefore: 9 });
  const escape = new AbortController();
  await pi.emit("session_before_compact", { signal: escape.signal });
  escape.abort();
  assert.equal((await daemon.event("compaction_end")).aborted, true);
});

for (const [name, data] of [["session_compact_failed", { reason: "threshold", errorMessage: "no key" }], ["agent_settled", {}]]) {
  test(`a compaction that failed is over with ${name}`, async (t) => {
    const { connect, pi, daemon } = scene(t);
    await connect();
    await pi.emit("session_before_compact", { reason: "threshold" });
    await pi.emit(name, data);
    assert.equal((await daemon.event("compaction_end")).errorMessage, data.errorMessage);
    assert.equal((await daemon.command({ type: "prompt", message: "now?" })).success, true);
  });
}

test("a message in the middle of a run is queued while pi compacts", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.type("work");
  await pi.emit("session_before_compact", { reason: "threshold" });
  assert.equal((await daemon.command({ type: "prompt", message: "next", streamingBehavior: "followUp" })).data.disposition, "queued");
});

test("a compaction of which pi reports no end is over after five minutes", async (t) => {
  const { connect, pi, daemon, clock } = scene(t);
  await connect();
  await pi.emit("session_before_compact", {});
  assert.match((await daemon.command({ type: "prompt", message: "now?" })).error, /compacting/);
  clock.advance(300_000);
  assert.equal((await daemon.event("compaction_end")).aborted, true);
  assert.equal((await daemon.command({ type: "prompt", message: "now?" })).success, true);
});

test("a daemon that never reads costs pi no wait and misses deltas only", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  daemon.stream.pause();
  const delta = { type: "text_delta", contentIndex: 0, delta: "d".repeat(10_000) };
  for (let count = 0; count < 400; count += 1) await pi.emit("message_update", { assistantMessageEvent: delta });
  await pi.answerWith("the whole text");
  daemon.stream.resume();
  const end = await daemon.event("message_end");
  assert.equal(end.message.content[0].text, "the whole text");
  const heard = daemon.events.filter((one) => one.type === "message_update").length;
  assert.ok(heard > 100 && heard < 400, `${heard} of 401 updates came`);
});

test("the output of tools is dropped, too, for a daemon that never reads", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  daemon.stream.pause();
  const partialResult = { content: [{ type: "text", text: "o".repeat(100_000) }] };
  for (let count = 0; count < 40; count += 1) await pi.emit("tool_execution_update", { toolCallId: `c${count}`, partialResult });
  await pi.emit("tool_execution_end", { toolCallId: "c1", toolName: "bash", result: {}, isError: false });
  daemon.stream.resume();
  await daemon.event("tool_execution_end");
  assert.ok(daemon.events.length < 20);
});

test("a daemon that reads nothing any more is disconnected before 8 MiB wait for it, and attached anew", async (t) => {
  const { connect, pi, daemon, clock } = scene(t);
  await connect();
  daemon.stream.pause();
  const message = { role: "assistant", content: [{ type: "text", text: "m".repeat(500_000) }] };
  for (let count = 0; count * 500_000 < hardLimit + 1_000_000; count += 1) await pi.emit("message_end", { message });
  assert.equal(pi.status, "relay: the daemon does not read");
  clock.advance(250);
  await daemon.next("session.attach");
});

test("a new name and thinking level are events of pi, and a model is read from the state", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  pi.setSessionName("payments");
  await pi.emit("thinking_level_select", { level: "high", previousLevel: "off" });
  await pi.setModel({ provider: "fake", id: "fake-2" });
  assert.equal((await daemon.command({ type: "get_state" })).data.model.id, "fake-2");
  await pi.emit("session_tree", { newLeafId: "e1", oldLeafId: "e2", summaryEntry: { summary: "long" } });
  await daemon.event("session_tree");
  assert.deepEqual(daemon.events, [
    { type: "session_info_changed", name: "payments" },
    { type: "thinking_level_changed", level: "high" },
    { type: "thinking_level_select", level: "high", previousLevel: "off" },
    { type: "model_select", model: { provider: "fake", id: "fake-2" } },
    { type: "session_tree", newLeafId: "e1", oldLeafId: "e2" },
  ]);
});

test("a new session in the terminal ends the old one and names where it came from", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.emit("session_shutdown", { reason: "new", targetSessionFile: "/sessions/pi-2.jsonl" });
  assert.deepEqual((await daemon.next("session.detach")).params, { reason: "new", targetSessionFile: "/sessions/pi-2.jsonl" });
  await pi.emit("session_start", { reason: "new", previousSessionFile: "/sessions/pi-1.jsonl" });
  const { params } = await daemon.next("session.attach");
  assert.deepEqual([params.reason, params.previousSessionFile], ["new", "/sessions/pi-1.jsonl"]);
});

test("a release of pi that keeps its extensions over a change of session is followed", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.emit("session_switch", { reason: "resume", previousSessionFile: "/sessions/pi-1.jsonl" });
  assert.equal((await daemon.next("session.detach")).params.reason, "resume");
  assert.equal((await daemon.next("session.attach")).params.previousSessionFile, "/sessions/pi-1.jsonl");
});

test("other extensions publish activity without a message, and never fail by it", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const hostile = { get summary() { throw new Error("no"); } };
  for (const data of [null, 7, {}, hostile]) pi.events.emit("relay_activity", data);
  /** @type {any} */
  const circle = {};
  circle.itself = circle;
  pi.events.emit("kendex_activity", { type: "job", source: "pi-bg-task", severity: "loud", importance: "noisy", summary: "x".repeat(9_000), refs: [{ path: "a.log" }], details: circle });
  const event = await daemon.event("kendex_activity");
  assert.deepEqual([event.kind, event.severity, event.importance, event.summary.length], ["job", "info", "noisy", 4_096]);
  assert.deepEqual(event.refs, [{ path: "a.log" }]);
  assert.equal(event.details, undefined);
  pi.events.emit("relay_activity", { summary: "b", refs: ["x".repeat(20_000)], details: { exit: 1 } });
  const second = await daemon.event("kendex_activity");
  assert.deepEqual([second.summary, second.refs, second.details], ["b", undefined, { exit: 1 }]);
});

test("an extension publishes activity at the place of an earlier bridge, which goes with the session", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const place = () => globalThis[Symbol.for("kendex.pi.activity")];
  assert.equal(place(), globalThis[Symbol.for("vstack.pi.activity")]);
  for (let count = 0; count < 101; count += 1) place().publish({ type: "job", summary: `step ${count}` });
  place().publish({ get summary() { throw new Error("no"); } });
  assert.deepEqual([(await daemon.event("kendex_activity")).kind, place().recent().length], ["job", 100]);
  assert.deepEqual(place().recent(1).map((one) => [one.type, one.summary]), [["job", "step 100"]]);
  await pi.emit("session_shutdown", { reason: "quit" });
  assert.equal(place(), undefined);
});
