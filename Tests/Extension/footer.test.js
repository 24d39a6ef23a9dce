import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { scene } from "./support/scene.js";

function writeSettings(folder, relay) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "settings.json"), JSON.stringify({ relay }));
}

test("a daemon that is away for less than 5 s is not announced", async (t) => {
  const one = scene(t);
  await one.connect();
  await one.loseDaemon();
  one.clock.advance(4_999);
  assert.deepEqual(one.pi.notices, []);
  one.clock.advance(1);
  assert.equal(one.pi.notices.length, 1);
});

test("a daemon that is back in time is not announced later", async (t) => {
  const one = scene(t);
  await one.connect();
  await one.loseDaemon();
  await one.returnDaemon();
  one.clock.advance(60_000);
  assert.deepEqual(one.pi.notices, []);
});

test("a daemon that goes and comes back is announced once each, and again only after a minute", async (t) => {
  const one = scene(t);
  await one.connect();
  const goAndReturn = async () => {
    await one.loseDaemon();
    one.clock.advance(5_000);
    await one.returnDaemon();
  };
  await goAndReturn();
  assert.deepEqual(one.pi.notices.map((notice) => notice.kind), ["warning", "info"]);
  await goAndReturn();
  assert.equal(one.pi.notices.length, 2);
  one.clock.advance(60_000);
  await goAndReturn();
  assert.equal(one.pi.notices.length, 4);
});

test("a loss that was not announced has no return to announce", async (t) => {
  const one = scene(t);
  await one.connect();
  for (let round = 0; round < 2; round += 1) {
    await one.loseDaemon();
    one.clock.advance(5_000);
    if (round === 0) await one.returnDaemon();
  }
  one.clock.advance(60_000);
  await one.returnDaemon();
  assert.deepEqual(one.pi.notices.map((notice) => notice.kind), ["warning", "info"]);
});

test("a session that has ended is shown nothing any more", async (t) => {
  const one = scene(t);
  await one.connect();
  await one.daemon.command({ type: "prompt", message: "push it" });
  const call = one.pi.callTool("bash", {});
  await one.daemon.next("extension.approve");
  await one.pi.emit("session_shutdown", { reason: "new" });
  assert.equal((await call).block, true);
  const { length } = one.pi.statuses;
  const late = one.pi.callTool("bash", {});
  one.clock.advance(500);
  assert.equal((await late).block, true);
  assert.equal(one.pi.statuses.length, length);
});

test("a person who disconnects hears nothing of a daemon that is gone", async (t) => {
  const one = scene(t);
  await one.connect();
  await one.loseDaemon();
  await one.pi.runCommand("relay", "disconnect");
  const before = one.pi.notices.length;
  one.clock.advance(60_000);
  assert.equal(one.pi.notices.length, before);
});

test("the footer and the notices can be switched off and on", async (t) => {
  const one = scene(t);
  writeSettings(join(one.folder, ".pi/agent"), { showStatus: false, notifyOnStart: true });
  await one.connect();
  assert.deepEqual([one.pi.statuses, one.pi.notices], [[], [{ text: "pi-relay: relay: api on box.", kind: "info" }]]);
});

test("a session with `enabled: false` joins nothing", async (t) => {
  const one = scene(t);
  writeSettings(join(one.folder, ".pi/agent"), { enabled: false });
  await one.daemon.start();
  await one.pi.emit("session_start");
  assert.deepEqual([one.pi.statuses, one.clock.waits], [[], []]);
  assert.match((await one.pi.runCommand("bridge:status")).text, /\ndisconnected\n/);
});

test("settings of a project count only when the person trusts it", async (t) => {
  for (const isTrusted of [false, true]) {
    const one = scene(t);
    one.pi.ctx.cwd = join(one.folder, "project");
    one.pi.isTrusted = isTrusted;
    writeSettings(join(one.folder, "project/.pi"), { showStatus: false });
    await one.connect();
    assert.equal(one.pi.statuses.length === 0, isTrusted);
  }
});

for (const about of [{ mode: "print", hasUI: false }, { mode: "json", hasUI: false }, { mode: "rpc" }]) {
  test(`pi in mode ${about.mode} is nobody's terminal and joins nothing`, async (t) => {
    const one = scene(t, { pi: about });
    await one.daemon.start();
    await one.pi.emit("session_start");
    assert.deepEqual([one.clock.waits, one.pi.statuses], [[], []]);
    assert.match((await one.pi.runCommand("bridge:status")).text, /\ndisconnected\n/);
  });
}
