import assert from "node:assert/strict";
import { test } from "node:test";
import { scene } from "./support/scene.js";

const child = { child: true, pi: { mode: "rpc" } };

test("a session of the daemon says which it is, and nothing of its events", async (t) => {
  const { connect, pi, daemon } = scene(t, child);
  const { params } = await connect();
  assert.deepEqual(params, { version: "0.1.0", session: "s1", pid: process.pid });
  await pi.beginRun("work");
  await pi.endRun();
  await daemon.request("no.such.method", {});
  assert.deepEqual(daemon.events, []);
});

test("a session of the daemon has its tools from the beginning, and no commands and no footer", async (t) => {
  const { pi } = scene(t, child);
  assert.equal(pi.tools.size, 5);
  await pi.emit("session_start");
  assert.deepEqual([pi.commands.size, pi.statuses, pi.notices], [0, [], []]);
});

test("every call of a session of the daemon is asked for", async (t) => {
  const { connect, pi, daemon } = scene(t, child);
  await connect();
  daemon.answers["extension.approve"] = { decision: "deny", reason: "no" };
  assert.deepEqual(await pi.callTool("bash", { command: "git push" }), { block: true, reason: "no" });
});

test("a session that has never reached its daemon approves nothing", async (t) => {
  const { pi, clock } = scene(t, child);
  await pi.emit("session_start");
  const call = pi.callTool("bash", {});
  clock.advance(20_000);
  assert.deepEqual(await call, { block: true, reason: "Not approved: pi-relay cannot ask, because the daemon is not running." });
});

test("a session that was started without approvals does not need the daemon for its calls", async (t) => {
  const { pi } = scene(t, { ...child, env: { PI_RELAY_APPROVALS: "off" } });
  await pi.emit("session_start");
  assert.equal(await pi.callTool("bash", {}), undefined);
});

test("what the daemon says of approvals counts more than the beginning", async (t) => {
  const { connect, pi, daemon } = scene(t, { ...child, env: { PI_RELAY_APPROVALS: "off" } });
  await connect();
  daemon.answers["extension.approve"] = { decision: "deny", reason: "no" };
  assert.equal((await pi.callTool("bash", {})).block, true);
});

test("a session of the daemon returns to it after a restart", async (t) => {
  const one = scene(t, child);
  await one.connect();
  await one.daemon.stop();
  await one.returnDaemon();
  one.daemon.answers["extension.approve"] = { decision: "allow" };
  assert.equal(await one.pi.callTool("bash", {}), undefined);
});

test("a terminal that has inherited the session's variable is a person's terminal", async (t) => {
  const one = scene(t, { isTerminal: true, env: { PI_RELAY_SESSION: "s1" } });
  await one.connect();
  await one.pi.type("push it");
  assert.equal(await one.pi.callTool("bash", {}), undefined);
});

test("a release of pi that does not tell its mode joins from a terminal only", async (t) => {
  for (const isTerminal of [true, false]) {
    const one = scene(t, { isTerminal });
    one.pi.ctx.mode = undefined;
    await one.pi.emit("session_start");
    assert.equal(one.pi.statuses.length, isTerminal ? 1 : 0);
  }
});

test("an agent that another extension started stays out of it", async (t) => {
  const { pi } = scene(t, { env: { PI_SUBAGENT_CHILD: "1" } });
  assert.equal(pi.handlers.size, 0);
});
