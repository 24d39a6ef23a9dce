import assert from "node:assert/strict";
import { test } from "node:test";
import { scene } from "./support/scene.js";

test("the requests have a connection of their own, which names the session as the daemon does", async (t) => {
  const one = scene(t);
  await one.connect();
  const hello = one.daemon.messages.find((message) => message.method === "extension.hello");
  assert.deepEqual([hello.params, hello.connection], [{ version: "0.1.0", session: "s1", pid: process.pid }, 2]);
});

for (const lost of ["stream", "requests"]) {
  test(`both connections are made anew when that of the ${lost} is lost`, async (t) => {
    const one = scene(t);
    await one.connect();
    one.daemon[lost].destroy();
    await one.daemon.until(() => one.daemon.sockets.length === 0);
    await one.pi.until(() => one.pi.status === "relay: the daemon closed the connection");
    one.clock.advance(250);
    await one.isConnected();
    assert.equal(one.daemon.connections, 4);
    assert.equal((await one.daemon.command({ type: "get_state" })).success, true);
  });
}

test("what happens while the daemon decides about the session follows its answer", async (t) => {
  const one = scene(t);
  one.daemon.answers["session.attach"] = undefined;
  await one.daemon.start();
  await one.pi.emit("session_start");
  const { id } = await one.daemon.next("session.attach");
  await one.pi.type("hello");
  // A write that is due is made before this.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const [socket] = one.daemon.sockets;
  one.daemon.becomesStream(socket);
  socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: { machine: "box", session: { id: "s1", name: "api" } } })}\n`);
  await one.daemon.event("agent_start");
  await one.daemon.event("message_end");
});

test("an answer to the registration that is not of the protocol ends the connection", async (t) => {
  const one = scene(t);
  one.daemon.answers["session.attach"] = undefined;
  await one.daemon.start();
  await one.pi.emit("session_start");
  await one.daemon.next("session.attach");
  one.daemon.sockets[0].write('{"type":"get_state"}\n');
  await one.pi.until(() => one.pi.status === "relay: the daemon sends lines that are not of the protocol");
});

/** What came on the stream after the first response, a word for each line. */
function words(daemon, first) {
  const lines = daemon.streamLines.filter((one) => one.from === "extension").map((one) => JSON.parse(one.line));
  return lines.slice(lines.findIndex((one) => one.id === first)).map((one) => (one.type === "response" ? `${one.command} ${one.id}` : one.type));
}

test("the answer to a prompt comes before the run that it begins, as in RPC mode", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await daemon.command({ id: "p1", type: "prompt", message: "hello" });
  await pi.endRun();
  await daemon.event("agent_settled");
  assert.deepEqual(words(daemon, "p1"), ["prompt p1", "agent_start", "turn_start", "message_start", "message_end", "agent_end", "agent_settled"]);
});

test("the answer to a message that is queued comes before pi takes it, however soon that is", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.type("work");
  const send = pi.sendUserMessage;
  pi.sendUserMessage = (content, options) => {
    send.call(pi, content, options);
    void pi.takeMessage(content);
  };
  await daemon.command({ id: "p1", type: "prompt", message: "more" });
  await daemon.event("message_end", ({ message }) => message.content[0].text === "more");
  assert.deepEqual(words(daemon, "p1"), ["prompt p1", "message_start", "message_end"]);
});

test("a session whose daemon has not opened the requests yet takes commands and tells events", async (t) => {
  const one = scene(t);
  one.daemon.answers["extension.hello"] = undefined;
  await one.daemon.start();
  await one.pi.emit("session_start", { reason: "startup" });
  await one.daemon.next("extension.hello");
  assert.equal((await one.daemon.command({ type: "prompt", message: "hello" })).success, true);
  await one.daemon.event("agent_start");
});

test("an unknown command and lines that are no commands are answered as pi does", async (t) => {
  const { connect, daemon } = scene(t);
  await connect();
  assert.deepEqual(await daemon.command({ id: 4, type: "fly" }), { id: 4, type: "response", command: "fly", success: false, error: "Unknown command: fly" });
  for (const line of ["this is not json", `{"type":"prompt","x":"${"x".repeat(64 << 20)}"}`, "null", "[]", "42"]) daemon.write(line);
  await daemon.command({ type: "get_state" });
  const [junk, long, ...others] = daemon.responses.slice(1, -1);
  assert.deepEqual(others, Array(3).fill({ type: "response", success: false, error: "Unknown command: undefined" }));
  assert.deepEqual([junk.command, junk.success], ["parse", false]);
  assert.match(junk.error, /^Failed to parse command: Unexpected token/);
  assert.equal(long.error, "Failed to parse command: the line is longer than 64 MiB");
});

test("of very many unanswered commands those over 64 are refused for now", async (t) => {
  const { connect, pi, daemon, clock } = scene(t);
  await connect();
  pi.isStuck = true;
  const all = Array.from({ length: 65 }, () => daemon.command({ type: "prompt", message: "m" }));
  assert.match((await all[64]).error, /too many commands/);
  clock.advance(30_000);
  await all[0];
  assert.equal((await daemon.command({ type: "get_state" })).success, true);
});

test("an answer that is too long for a line is an error", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  pi.entries = [{ id: "e1", type: "message", message: { role: "assistant", content: "c".repeat(2 << 20) } }];
  const { id, ...rest } = await daemon.command({ type: "get_last_assistant_text" });
  assert.deepEqual(rest, { type: "response", command: "get_last_assistant_text", success: false, error: "the answer is longer than 1 MiB" });
});
