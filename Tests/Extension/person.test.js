import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scene } from "./support/scene.js";

test("/relay status shows the connection and what the daemon adds", async (t) => {
  const { connect, pi, daemon, path } = scene(t);
  await connect();
  daemon.answers["relay.status"] = { text: "2 chats follow this session." };
  const { text } = await pi.runCommand("relay");
  assert.equal(text, `pi-relay:\nconnected to box as api (s1)\napprovals: on\nsocket: ${path}\n2 chats follow this session.`);
});

test("/relay status without a daemon says so", async (t) => {
  const { pi, path } = scene(t);
  await pi.emit("session_start");
  assert.equal((await pi.runCommand("relay", "status")).text, `pi-relay:\nnot connected: the daemon is not running\nsocket: ${path}`);
});

for (const verb of ["approvals", "sessions"]) {
  test(`/relay ${verb} shows the daemon's text`, async (t) => {
    const { connect, pi, daemon } = scene(t);
    await connect();
    daemon.answers[`relay.${verb}`] = { text: `the ${verb}` };
    assert.deepEqual(await pi.runCommand("relay", verb), { text: `the ${verb}`, kind: "info" });
  });
}

test("a command that needs the daemon is an error without it", async (t) => {
  const { pi } = scene(t);
  await pi.emit("session_start");
  assert.deepEqual(await pi.runCommand("relay", "sessions"), { text: "pi-relay: the daemon is not running", kind: "error" });
});

test("/relay sessions and send-file give their words to the daemon", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  for (const method of ["relay.sessions", "relay.sendFile"]) daemon.answers[method] = { text: "ok" };
  await pi.runCommand("relay", "sessions 2");
  assert.deepEqual((await daemon.next("relay.sessions")).params, { page: 2 });
  await pi.runCommand("relay", 'send-file "a b.md" the plan');
  assert.deepEqual((await daemon.next("relay.sendFile")).params, { path: "a b.md", caption: "the plan" });
  assert.equal((await pi.runCommand("relay", "send-file")).text, "pi-relay: write: /relay send-file PATH [CAPTION]");
});

test("/relay disconnect revokes, says goodbye and stays disconnected until /relay connect", async (t) => {
  const { connect, pi, daemon, clock } = scene(t);
  await connect();
  daemon.answers["relay.disconnect"] = { text: "1 chat no longer follows." };
  assert.match((await pi.runCommand("relay", "disconnect")).text, /until \/relay connect\.\n1 chat no longer follows\.$/);
  assert.equal((await daemon.next("session.detach")).params.reason, "disconnect");
  assert.equal(pi.status, "relay: disconnected");
  assert.deepEqual(clock.waits, []);
  await daemon.until(() => daemon.sockets.length === 0);
  await pi.runCommand("relay", "connect");
  assert.equal(daemon.connections, 4);
  assert.equal(pi.status, "relay: api on box");
});

test("/relay reconnect makes a new connection", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  assert.match((await pi.runCommand("relay", "reconnect")).text, /connected to box/);
  assert.equal(daemon.connections, 4);
});

test("/relay doctor looks at the socket and the settings without a daemon", async (t) => {
  const { folder, pi } = scene(t);
  mkdirSync(join(folder, ".pi/agent"), { recursive: true });
  writeFileSync(join(folder, ".pi/agent/settings.json"), JSON.stringify({ relay: { showStatus: "yes", colour: true } }));
  await pi.emit("session_start");
  const { text } = await pi.runCommand("relay", "doctor");
  assert.match(text, /✖ the daemon is not running; start it with: pi-relayd start --detach/);
  assert.match(text, /settings\.json: relay\.showStatus must be true or false/);
  assert.match(text, /settings\.json: relay\.colour is not a setting/);
});

test("/pidash starts, stops and restarts the daemon by its own program", async (t) => {
  const { pi } = scene(t);
  await pi.emit("session_start");
  for (const line of ["start", "stop", "restart"]) await pi.runCommand("pidash", line);
  await pi.runCommand("relay", "restart");
  const start = ["pi-relayd", "start", "--detach"];
  const stop = ["pi-relayd", "stop"];
  assert.deepEqual(pi.programs, [start, stop, stop, start, stop, start]);
  assert.match((await pi.runCommand("pidash", "")).text, /^pi-relay:/);
});

test("a daemon that does not run is started by a restart", async (t) => {
  const { pi } = scene(t);
  await pi.emit("session_start");
  pi.exec = async (_, [word]) => (word === "stop" ? { code: 3, stdout: "", stderr: "No pi-relayd runs." } : { code: 0, stdout: "It runs.", stderr: "" });
  assert.deepEqual(await pi.runCommand("pidash", "restart"), { text: "It runs.", kind: "info" });
});

test("a program that fails is an error with its words", async (t) => {
  const { pi } = scene(t);
  await pi.emit("session_start");
  pi.programResult = { code: 1, stdout: "", stderr: "No pi-relayd runs." };
  assert.deepEqual(await pi.runCommand("pidash", "stop"), { text: "pi-relay: No pi-relayd runs.", kind: "error" });
  pi.programResult = { code: 127, stdout: "", stderr: "" };
  assert.match((await pi.runCommand("pidash", "start")).text, /is pi-relayd in PATH\?/);
  // pi ends a program that takes too long, and names no exit code.
  pi.programResult = { code: 0, killed: true, stdout: "", stderr: "" };
  assert.match((await pi.runCommand("pidash", "start")).text, /did not end within 60 s/);
});

test("/bridge:status and /bridge:ping need no model and no daemon", async (t) => {
  const { pi } = scene(t);
  await pi.emit("session_start");
  assert.match((await pi.runCommand("bridge:status")).text, /not connected/);
  assert.equal((await pi.runCommand("bridge:ping")).text, "bridge_pong: pong (not sent: there is no connection)");
});

test("/bridge:ping reaches the programs that follow, once", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.runCommand("bridge:ping", "hello");
  assert.deepEqual(await daemon.event("bridge_pong"), { type: "bridge_pong", text: "hello" });
  await daemon.command({ type: "get_state" });
  assert.equal(daemon.events.length, 1);
});

test("every word of a command is completed, and an unknown word names them", async (t) => {
  const { pi, clock } = scene(t);
  const complete = (command, prefix) => pi.commands.get(command).getArgumentCompletions(prefix)?.map((one) => one.value) ?? null;
  assert.deepEqual(complete("relay", "re"), ["reconnect", "restart"]);
  assert.deepEqual(complete("pidash", "sta"), ["start", "status"]);
  assert.deepEqual([complete("relay", "x"), complete("bridge:ping", "")], [null, null]);
  for (const word of complete("relay", "")) {
    const shown = pi.runCommand("relay", word);
    clock.advance(5_000);
    const { text } = await shown;
    assert.doesNotMatch(text, /there is no \/relay/);
  }
  assert.match((await pi.runCommand("relay", "fly")).text, /there is no \/relay fly; there are: status, connect/);
});
