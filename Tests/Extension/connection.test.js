import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { Backoff } from "../../extension/lib/backoff.js";
import { DaemonLink } from "../../extension/lib/daemon-link.js";
import { Happenings } from "./support/happenings.js";
import { scene } from "./support/scene.js";

test("without a daemon there is one look at the socket, no timer and no tool", async (t) => {
  const { pi, clock } = scene(t);
  await pi.emit("session_start", { reason: "startup" });
  assert.equal(pi.status, "relay: the daemon is not running");
  assert.deepEqual(clock.waits, []);
  assert.equal(pi.tools.size, 0);
  assert.equal(await pi.callTool("bash", { command: "git push" }), undefined);
});

test("a daemon that starts later is found by the change of its folder", async (t) => {
  const { pi, daemon } = scene(t);
  await pi.emit("session_start");
  await daemon.start();
  await daemon.next("session.attach");
});

test("a daemon whose folder does not exist yet is found", async (t) => {
  const one = scene(t, { env: { PI_RELAY_SOCKET: "" } });
  await one.pi.emit("session_start");
  mkdirSync(join(one.folder, ".pi/agent/relay/run"), { recursive: true });
  one.daemon.path = join(one.folder, ".pi/agent/relay/run/control.sock");
  await one.daemon.start();
  // The parent of the daemon's home does not exist either: only time finds it, at the longest wait.
  one.clock.advance(60_000);
  await one.daemon.next("session.attach");
});

test("waits double from a quarter of a second to a minute, each up to a quarter shorter or longer", () => {
  const middle = new Backoff(() => 0.5);
  assert.deepEqual(Array.from({ length: 10 }, () => middle.next()), [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  assert.equal(new Backoff(() => 0).next(), 187.5);
  assert.equal(new Backoff(() => 1).next(), 312.5);
});

/** A link alone, with a word for each of its changes. */
function linkTo(t, { path, clock }) {
  const changes = new Happenings();
  const link = new DaemonLink(path, { clock, random: () => 0.5 }, {
    greet: async () => {},
    changed: () => changes.happened(),
    request() {},
    notification() {},
  });
  t.after(() => link.stop("the test is over"));
  return { link, changes };
}

test("a daemon that was killed is tried again ever more seldom, and at once when its folder changes", async (t) => {
  const { path, clock, daemon } = scene(t);
  const { link, changes } = linkTo(t, { path, clock });
  await daemon.start();
  link.start();
  await changes.until(() => link.isConnected);
  await daemon.kill();
  const waits = [];
  while (waits.at(-1) !== 60_000) {
    const [wait] = await changes.until(() => link.state === "away" && clock.waits.length === 1 && clock.waits);
    waits.push(wait);
    clock.advance(wait);
  }
  await changes.until(() => link.state === "away");
  assert.equal(link.reason, "the daemon is not running");
  assert.deepEqual(waits.slice(0, -1), waits.slice(0, -1).map((_, index) => 32_000 / 2 ** (waits.length - 2 - index)));
  await daemon.start();
  await changes.until(() => link.isConnected);
});

test("the waits begin anew only after a connection that lasted", async (t) => {
  const { path, clock, daemon } = scene(t);
  const { link, changes } = linkTo(t, { path, clock });
  /** The first wait after the loss of a connection that lasted so long. */
  const waitAfter = async (milliseconds) => {
    await changes.until(() => link.isConnected);
    clock.advance(milliseconds);
    for (const socket of daemon.sockets) socket.destroy();
    await changes.until(() => link.state === "away");
    const [wait] = clock.waits;
    clock.advance(wait);
    await changes.until(() => link.isConnected);
    return wait;
  };
  await daemon.start();
  link.start();
  assert.deepEqual([await waitAfter(0), await waitAfter(9_999), await waitAfter(10_000), await waitAfter(0)], [250, 500, 250, 500]);
});

test("a socket of another user is not used", { skip: process.getuid() !== 0 && "only root can give a socket away" }, async (t) => {
  const one = scene(t);
  await one.daemon.start();
  chownSync(one.path, 12_345, 12_345);
  await one.pi.emit("session_start");
  assert.match(one.pi.status, /belongs to another user/);
  assert.equal(one.daemon.connections, 0);
});

test("of very many unanswered requests those over 64 are refused for now", async (t) => {
  const one = scene(t);
  await one.connect();
  one.pi.isStuck = true;
  const all = Array.from({ length: 65 }, () => one.daemon.request("pi.command", { command: { type: "prompt", message: "m" } }));
  assert.equal((await all[64]).error.code, -32001);
});

test("a session is registered again after a restart of the daemon in mid-turn", async (t) => {
  const one = scene(t);
  await one.connect();
  await one.pi.beginRun("work");
  await one.daemon.event("agent_start");
  await one.loseDaemon();
  await one.pi.answerWith("while nobody listens");
  const { params } = await one.returnDaemon();
  assert.equal(params.session, "pi-1");
  assert.equal(params.isIdle, false);
  await one.pi.endRun();
  await one.daemon.event("agent_settled");
});

test("lines that are not of the protocol are skipped", async (t) => {
  const one = scene(t);
  await one.connect();
  one.daemon.socket.write("junk\n\n[]\nnull\n42\n{}\n");
  one.daemon.send({ method: "no.such.notification", params: null });
  one.daemon.send({ id: 999, result: {} });
  assert.equal((await one.daemon.command({ type: "get_state" })).success, true);
  assert.equal(one.daemon.connections, 1);
});

test("a daemon that sends nothing else is given up", async (t) => {
  const one = scene(t);
  await one.connect();
  one.daemon.socket.write("junk\n".repeat(20));
  await one.pi.until(() => one.pi.status === "relay: the daemon sends lines that are not of the protocol");
});

test("a line that is too long is skipped, and the connection kept", async (t) => {
  const one = scene(t);
  await one.connect();
  one.daemon.socket.write(`{"jsonrpc":"2.0","id":1,"method":"pi.command","params":{"x":"${"a".repeat(1 << 20)}"}}\n`);
  assert.equal((await one.daemon.command({ type: "get_state" })).success, true);
  assert.equal(one.daemon.connections, 1);
});

test("a line of exactly 1 MiB, a carriage return and a character cut in two arrive whole", async (t) => {
  const one = scene(t);
  await one.connect();
  const around = (text) => JSON.stringify({ jsonrpc: "2.0", id: "x", method: "pi.command", params: { command: { type: "set_session_name", name: text } } });
  const name = "é".repeat(((1 << 20) - Buffer.byteLength(around(""))) / 2);
  const line = Buffer.from(`${around(name).padEnd((1 << 20) - Buffer.byteLength(around(name)) + around(name).length)}\n`);
  assert.equal(line.length, (1 << 20) + 1);
  one.daemon.socket.write(line.subarray(0, line.length - 4_000));
  one.daemon.socket.write(line.subarray(line.length - 4_000));
  await one.pi.until(() => one.pi.name === name);
  one.daemon.socket.write(`${around("short")}\r\n`);
  await one.pi.until(() => one.pi.name === "short");
});

test("an unknown method is answered with -32601", async (t) => {
  const one = scene(t);
  await one.connect();
  const { error } = await one.daemon.request("pi.fly", {});
  assert.equal(error.code, -32601);
});

test("a daemon that refuses the session is named in the footer and asked again after a minute", async (t) => {
  const one = scene(t);
  one.daemon.answers["session.attach"] = () => {
    throw { code: -32601, message: "there is no method session.attach" };
  };
  await one.daemon.start();
  await one.pi.emit("session_start");
  await one.pi.until(() => one.pi.status === "relay: refused (there is no method session.attach)");
  assert.deepEqual(one.clock.waits, [60_000]);
});

test("a daemon that does not answer the greeting is given up after 10 s", async (t) => {
  const one = scene(t);
  one.daemon.answers["session.attach"] = undefined;
  await one.daemon.start();
  await one.pi.emit("session_start");
  await one.daemon.next("session.attach");
  one.clock.advance(10_000);
  await one.daemon.until(() => one.daemon.sockets.length === 0);
});

test("a file in place of the socket is not used", async (t) => {
  const one = scene(t);
  writeFileSync(one.path, "");
  await one.pi.emit("session_start");
  assert.match(one.pi.status, /is not a socket; move it away/);
});

test("an earlier connection that ends late does not end the next one", async (t) => {
  const one = scene(t);
  await one.connect();
  await one.pi.runCommand("relay", "reconnect");
  await one.daemon.until(() => one.daemon.connections === 2);
  await one.daemon.until(() => one.daemon.sockets.length === 1);
  assert.equal((await one.daemon.command({ type: "get_state" })).success, true);
});

test("pi exits by itself while it is connected, and the daemon hears why", async (t) => {
  const one = scene(t);
  await one.daemon.start();
  const program = `
    import { activate } from ${JSON.stringify(new URL("../../extension/index.js", import.meta.url).href)};
    import { systemClock } from ${JSON.stringify(new URL("../../extension/lib/clock.js", import.meta.url).href)};
    import { FakePi } from ${JSON.stringify(new URL("./support/fake-pi.js", import.meta.url).href)};
    const pi = new FakePi();
    activate(pi, { env: { PI_RELAY_SOCKET: ${JSON.stringify(one.path)} }, clock: systemClock, random: Math.random });
    await pi.emit("session_start", { reason: "startup" });
    // Something of pi's own keeps it running until the connection is there.
    const stay = setInterval(() => {}, 1_000);
    await pi.until(() => pi.status === "relay: api on box");
    clearInterval(stay);
    await pi.emit("session_shutdown", { reason: process.argv[1] });
    if (process.argv[1] === "exit") process.exit(3);
  `;
  const run = (reason) => promisify(execFile)(process.execPath, ["--input-type=module", "-e", program, reason]);
  await run("quit");
  assert.equal((await one.daemon.next("session.detach")).params.reason, "quit");
  await assert.rejects(run("exit"), { code: 3 });
  assert.equal((await one.daemon.next("session.detach")).params.reason, "exit");
});

test("a pi that never says goodbye can exit while it is connected", async (t) => {
  const one = scene(t);
  await one.daemon.start();
  const program = `
    import { activate } from ${JSON.stringify(new URL("../../extension/index.js", import.meta.url).href)};
    import { systemClock } from ${JSON.stringify(new URL("../../extension/lib/clock.js", import.meta.url).href)};
    import { FakePi } from ${JSON.stringify(new URL("./support/fake-pi.js", import.meta.url).href)};
    const pi = new FakePi();
    activate(pi, { env: { PI_RELAY_SOCKET: ${JSON.stringify(one.path)} }, clock: systemClock, random: Math.random });
    await pi.emit("session_start", { reason: "startup" });
    const stay = setInterval(() => {}, 1_000);
    await pi.until(() => pi.status === "relay: api on box");
    clearInterval(stay);
  `;
  await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
});

test("a stopped link says at once that there will be no connection", async (t) => {
  const one = scene(t);
  const link = new DaemonLink(one.path, { clock: one.clock, random: () => 0.5 }, { greet() {}, changed() {}, request() {}, notification() {} });
  assert.equal(await link.whenConnected({ milliseconds: 1_000 }), false);
  await assert.rejects(link.request("ping", {}), /not started/);
});
