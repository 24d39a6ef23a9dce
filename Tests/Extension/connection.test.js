import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { EventEmitter } from "node:events";
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { LineReader } from "../../extension/lib/line-reader.js";
import { LineSocket } from "../../extension/lib/line-socket.js";
import { socketPath } from "../../extension/lib/socket-path.js";
import { refusal } from "./support/fake-daemon.js";
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

test("a socket of another user is not used", { skip: process.getuid() !== 0 && "only root can give a socket away" }, async (t) => {
  const one = scene(t);
  await one.daemon.start();
  chownSync(one.path, 12_345, 12_345);
  await one.pi.emit("session_start");
  assert.match(one.pi.status, /belongs to another user/);
  assert.equal(one.daemon.connections, 0);
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
  one.daemon.requests.write(`junk\n[]\nnull\n42\n{}\n${"\n\r\n".repeat(20)}`);
  one.daemon.send({ method: "no.such.notification", params: null });
  one.daemon.send({ id: 999, result: {} });
  await one.daemon.request("no.such.method", {});
  assert.equal(one.daemon.connections, 2);
});

test("a daemon that sends nothing else is given up", async (t) => {
  const one = scene(t);
  await one.connect();
  one.daemon.requests.write("junk\n".repeat(20));
  await one.pi.until(() => one.pi.status === "relay: the daemon sends lines that are not of the protocol");
});

test("a line that is too long is refused, and the connection kept", async (t) => {
  const one = scene(t);
  await one.connect();
  one.daemon.requests.write(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${"a".repeat(1 << 20)}"}}\n`);
  await one.daemon.request("no.such.method", {});
  assert.deepEqual(one.daemon.refusals, [{ code: -32600, message: "a line was longer than 1 MiB, and was skipped" }]);
  assert.equal(one.daemon.connections, 2);
});

test("a line of exactly the limit, a carriage return and a character cut in two arrive whole", () => {
  const lines = [];
  let tooLong = 0;
  const reader = new LineReader(8, (line) => lines.push(JSON.parse(line)), () => (tooLong += 1));
  const bytes = Buffer.from('"ééé"\n"0123456"\n"short"\r\n');
  reader.push(bytes.subarray(0, 2));
  reader.push(bytes.subarray(2));
  assert.deepEqual([lines, tooLong], [["ééé", "short"], 1]);
});

test("a context that pi has given up does not end pi", async (t) => {
  const one = scene(t);
  await one.connect();
  const stale = () => {
    throw new Error("This extension context is stale.");
  };
  one.pi.ctx.ui.setStatus = stale;
  one.pi.ctx.ui.notify = stale;
  await one.daemon.kill();
  const { connections } = one.daemon;
  await one.daemon.start();
  for (let turn = 0; one.daemon.connections === connections; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    if (turn % 100 === 99) one.clock.advance(6_000);
  }
  await one.daemon.next("session.attach");
});

test("a path that cannot be that of a socket is a missing daemon", async (t) => {
  const one = scene(t, { env: { PI_RELAY_SOCKET: `/tmp/${"x".repeat(300)}` } });
  await one.pi.emit("session_start");
  assert.equal(one.pi.status, "relay: the daemon is not running");
});

test("an unknown method is answered with -32601", async (t) => {
  const one = scene(t);
  await one.connect();
  const { error } = await one.daemon.request("pi.fly", {});
  assert.equal(error.code, -32601);
});

for (const greeting of ["session.attach", "extension.hello"]) {
  test(`a daemon that refuses ${greeting} is named in the footer and asked again ever more seldom`, async (t) => {
    const one = scene(t);
    one.daemon.answers[greeting] = refusal(-32601, "there is no such method");
    await one.daemon.start();
    await one.pi.emit("session_start");
    for (const wait of [250, 500, 1_000]) {
      await one.daemon.next(greeting);
      const [found] = await one.daemon.until(() => one.clock.waits.length === 1 && one.daemon.sockets.length === 0 && one.clock.waits);
      assert.deepEqual([found, one.pi.status], [wait, "relay: refused (there is no such method)"]);
      one.clock.advance(wait);
    }
    one.daemon.answers[greeting] = { machine: "box", session: { id: "s1", name: "api" }, approvals: { enabled: true } };
    one.clock.advance(2_000);
    await one.pi.until(() => one.pi.status === "relay: api on box");
  });

  test(`a daemon that does not answer ${greeting} is given up after 10 s`, async (t) => {
    const one = scene(t);
    one.daemon.answers[greeting] = undefined;
    await one.daemon.start();
    await one.pi.emit("session_start");
    await one.daemon.next(greeting);
    one.clock.advance(9_999);
    assert.ok(one.daemon.sockets.length > 0);
    one.clock.advance(1);
    await one.daemon.until(() => one.daemon.sockets.length === 0);
    assert.equal(one.pi.status, "relay: the daemon did not answer the greeting");
  });
}

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
  await one.daemon.until(() => one.daemon.connections === 4);
  await one.daemon.until(() => one.daemon.sockets.length === 2);
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
    activate(pi, { env: { PI_RELAY_SOCKET: ${JSON.stringify(one.path)} }, clock: systemClock, random: Math.random, isTerminal: true });
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
    activate(pi, { env: { PI_RELAY_SOCKET: ${JSON.stringify(one.path)} }, clock: systemClock, random: Math.random, isTerminal: true });
    await pi.emit("session_start", { reason: "startup" });
    const stay = setInterval(() => {}, 1_000);
    await pi.until(() => pi.status === "relay: api on box");
    clearInterval(stay);
  `;
  await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
});

test("nothing is read after a connection was closed", () => {
  const socket = Object.assign(new EventEmitter(), { destroy() {} });
  const read = [];
  const lines = new LineSocket(socket, 10, {
    line: (text) => (read.push(text), lines.close("the test is over")),
    tooLong: () => read.push("too long"),
    closed() {},
  });
  socket.emit("data", Buffer.from("one\ntwo\n01234567890\n"));
  assert.deepEqual(read, ["one"]);
});

test("the socket of a home with a long path is where the home says", () => {
  const scratch = mkdtempSync(join(tmpdir(), "relay-"));
  try {
    const home = join(scratch, "x".repeat(120));
    mkdirSync(join(home, "run"), { recursive: true });
    writeFileSync(join(home, "run/control.path"), "/tmp/pi-relay-1/abc.sock\n");
    assert.equal(socketPath({ PI_RELAY_HOME: home }), "/tmp/pi-relay-1/abc.sock");
    assert.equal(socketPath({ PI_RELAY_HOME: "/short" }), "/short/run/control.sock");
  } finally {
    rmSync(scratch, { recursive: true });
  }
});
