import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { activate } from "../../../extension/index.js";
import { FakeDaemon } from "./fake-daemon.js";
import { FakePi } from "./fake-pi.js";
import { ManualClock } from "./manual-clock.js";

/**
 * A stand-in of pi with the extension in it, and a stand-in of the daemon, in a folder of their own.
 * @param {import("node:test").TestContext} t
 * @param {{ child?: boolean, isTerminal?: boolean, env?: object, pi?: object }} [options]
 */
export function scene(t, { child = false, isTerminal = !child, env = {}, pi: about = {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "pi-relay-"));
  const path = join(folder, "control.sock");
  const daemon = new FakeDaemon(path);
  const clock = new ManualClock();
  const pi = new FakePi(about);
  const environment = { HOME: folder, PI_RELAY_SOCKET: path, ...(child ? { PI_RELAY_SESSION: "s1" } : {}), ...env };
  activate(pi, { env: environment, clock, random: () => 0.5, isTerminal });
  // pi's own input keeps its process running; the extension must not.
  const running = setInterval(() => {}, 60_000);
  t.after(async () => {
    clearInterval(running);
    await pi.emit("session_shutdown", { reason: "quit" });
    await daemon.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const one = {
    folder,
    path,
    daemon,
    clock,
    pi,
    /** Starts the daemon, then pi, and waits for the greeting and the tools. */
    async connect() {
      await daemon.start();
      await pi.emit("session_start", { reason: "startup" });
      return one.isConnected();
    },
    /** Waits for the greetings, until the extension has taken the answers: it answers requests in order. Returns the first one. */
    async isConnected() {
      const attached = child ? undefined : await daemon.next("session.attach");
      const greeted = await daemon.next("extension.hello");
      await daemon.request("no.such.method", {});
      return attached ?? greeted;
    },
    /** Kills the daemon and waits until the extension has noticed. */
    async loseDaemon() {
      await daemon.kill();
      if (!child) await pi.until(() => pi.status !== "relay: api on box" && !pi.status.includes("waits"));
    },
    /** Starts the daemon again, and moves the time on, a little at a turn, until the extension has tried again. */
    async returnDaemon() {
      const before = daemon.connections;
      await daemon.start();
      for (let turn = 1; daemon.connections === before; turn += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        if (turn % 100 === 0) clock.advance(250);
      }
      return one.isConnected();
    },
  };
  return one;
}
