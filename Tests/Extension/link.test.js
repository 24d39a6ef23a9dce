import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "../../extension/lib/backoff.js";
import { DaemonLink } from "../../extension/lib/daemon-link.js";
import { LineSocket } from "../../extension/lib/line-socket.js";
import { Happenings } from "./support/happenings.js";
import { scene } from "./support/scene.js";

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
    greet: (dial) => dial((socket, closed) => new LineSocket(socket, 1_000, { line() {}, tooLong() {}, closed })),
    changed: () => changes.happened(),
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

test("a greeting that is answered after the link was stopped connects nothing", async (t) => {
  const one = scene(t);
  const states = [];
  let isGreeted = false;
  const link = new DaemonLink(one.path, { clock: one.clock, random: () => 0.5 }, {
    greet: async (dial) => {
      const connection = await dial(() => ({ end() {}, close() {} }));
      link.stop("over");
      setImmediate(() => (isGreeted = true) && one.pi.happened());
      return connection;
    },
    changed: (state) => states.push(state),
  });
  await one.daemon.start();
  link.start();
  await one.pi.until(() => isGreeted);
  assert.deepEqual(states, ["connecting", "stopped"]);
});

test("a stopped link says at once that there will be no connection", async (t) => {
  const one = scene(t);
  const link = new DaemonLink(one.path, { clock: one.clock, random: () => 0.5 }, { greet() {}, changed() {} });
  assert.equal(await link.whenConnected({ milliseconds: 1_000 }), false);
  await assert.rejects(link.request("ping", {}), /not started/);
});

test("the daemon is told why a session ends before its stream does", async (t) => {
  const one = scene(t);
  const happened = [];
  const named = (name) => ({ end: () => happened.push(`end of ${name}`), close() {}, tell: (method) => happened.push(method) });
  const link = new DaemonLink(one.path, { clock: one.clock, random: () => 0.5 }, {
    greet: async (dial) => {
      await dial(() => named("stream"));
      return dial(() => named("requests"));
    },
    changed: () => one.pi.happened(),
  });
  await one.daemon.start();
  link.start();
  await one.pi.until(() => link.isConnected);
  link.stop("over", { method: "session.detach", params: {} });
  assert.deepEqual(happened, ["session.detach", "end of requests", "end of stream"]);
});
