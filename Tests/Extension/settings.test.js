import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Settings, table } from "../../extension/lib/settings.js";
import { scene } from "./support/scene.js";

/** The settings that a user and a project have written. */
function settings(t, { user = {}, project = {}, isTrusted = false, env = {} }) {
  const folder = mkdtempSync(join(tmpdir(), "pi-relay-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [path, relay] of [["agent", user], ["project/.pi", project]]) {
    mkdirSync(join(folder, path), { recursive: true });
    writeFileSync(join(folder, path, "settings.json"), JSON.stringify({ theme: "dark", relay }));
  }
  return new Settings({ PI_CODING_AGENT_DIR: join(folder, "agent"), ...env }, { cwd: join(folder, "project"), isProjectTrusted: () => isTrusted });
}

test("there are thirteen settings, and each has its default", (t) => {
  assert.equal(Object.keys(table).length, 13);
  const { ofBridge, problems, text } = settings(t, {});
  assert.deepEqual([ofBridge, problems], [{}, []]);
  assert.match(text, /^enabled: true \(default\)\n/);
  assert.match(text, /\nbridgeDir: chosen by the daemon \(default\)\nhistoryLimit: 500 \(default\)\n/);
});

test("the user's settings count, those of a trusted project more, and the environment most", (t) => {
  const user = { historyLimit: 10, heartbeatMs: 2_000, maxEventBytes: 1_000 };
  const project = { heartbeatMs: 3_000, maxEventBytes: 2_000 };
  const env = { PI_BRIDGE_HISTORY: "20", PI_BRIDGE_DIR: "/run/bridge" };
  assert.deepEqual(settings(t, { user, project }).ofBridge, user);
  assert.deepEqual(settings(t, { user, project, isTrusted: true, env }).ofBridge, {
    historyLimit: 20,
    heartbeatMs: 3_000,
    maxEventBytes: 2_000,
    bridgeDir: "/run/bridge",
  });
});

test("a value that is not of its kind or out of range has no effect and is named with its file", (t) => {
  const user = { enabled: 0, historyLimit: 0, heartbeatMs: "1000", maxLineBytes: 1.5, maxRawSpillBytes: 2 ** 31, bridgeDir: "here", constructor: 1 };
  const read = settings(t, { user, env: { PI_BRIDGE_HISTORY: "many" } });
  assert.deepEqual([read.ofBridge, read.isOn("enabled")], [{}, true]);
  assert.equal(read.problems.length, 8);
  assert.match(read.problems[0], /agent\/settings\.json: relay\.enabled must be true or false$/);
  assert.match(read.problems[1], /relay\.historyLimit must be a whole number from 1 to 100000$/);
  assert.match(read.problems[5], /relay\.bridgeDir must be an absolute path$/);
  assert.match(read.problems[6], /relay\.constructor is not a setting$/);
  assert.match(read.problems[7], /^PI_BRIDGE_HISTORY: relay\.historyLimit must be/);
  assert.match(read.text, /✖ .*relay\.enabled must be true or false/);
});

test("a settings file that is missing or broken leaves the defaults", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "pi-relay-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const read = () => new Settings({ PI_CODING_AGENT_DIR: folder }, { cwd: "/", isProjectTrusted: () => false });
  assert.equal(read().isOn("showStatus"), true);
  for (const text of ["{", "null", "[]", '{"relay":null}', '{"relay":7}']) {
    writeFileSync(join(folder, "settings.json"), text);
    assert.deepEqual([read().isOn("showStatus"), read().problems], [true, []]);
  }
});

test("the daemon hears the settings of the bridge, and the person reads all of them", async (t) => {
  const one = scene(t);
  mkdirSync(join(one.folder, ".pi/agent"), { recursive: true });
  writeFileSync(join(one.folder, ".pi/agent/settings.json"), JSON.stringify({ relay: { notifyOnStart: true, spillRawEvents: false } }));
  const { params } = await one.connect();
  assert.deepEqual(params.bridge, { spillRawEvents: false });
  assert.match((await one.pi.runCommand("relay", "settings")).text, /\nspillRawEvents: false \(.*settings\.json\)\n/);
});

test("the tab of the extension manager shows each setting with its default, and what it writes counts", (t) => {
  const manifest = JSON.parse(readFileSync(new URL("../../extension/package.json", import.meta.url), "utf8"));
  const { displayName, settings: shown } = manifest.kendex.extensionManager;
  assert.equal(displayName, "Session Bridge");
  assert.deepEqual(Object.fromEntries(shown.map((one) => [one.key, one.default])), Object.fromEntries(Object.entries(table).map(([key, one]) => [key, one.value ?? ""])));
  for (const { key, type } of shown) assert.equal(type, table[key].value === undefined ? "path" : typeof table[key].value);

  const folder = mkdtempSync(join(tmpdir(), "pi-relay-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const config = (values) => ({ extensionManager: { config: { "pi-relay": values } } });
  const written = {
    relay: { historyLimit: 10, maxEventBytes: 1_000 },
    vstack: config({ maxEventBytes: 2_000, heartbeatMs: 2_000 }),
    kendex: config({ heartbeatMs: 3_000, bridgeDir: "", showStatus: "no" }),
  };
  writeFileSync(join(folder, "settings.json"), JSON.stringify(written));
  const { ofBridge, problems } = new Settings({ PI_CODING_AGENT_DIR: folder }, { cwd: "/", isProjectTrusted: () => false });
  assert.deepEqual(ofBridge, { historyLimit: 10, maxEventBytes: 2_000, heartbeatMs: 3_000 });
  assert.equal(problems.length, 1);
  assert.match(problems[0], /kendex\.extensionManager\.config\.pi-relay\.showStatus must be true or false$/);
});
