import assert from "node:assert/strict";
import { test } from "node:test";
import { refusal } from "./support/fake-daemon.js";
import { scene } from "./support/scene.js";

const ann = { id: "p1", conversation: { instance: "telegram/default", conversation: "secret-chat" }, person: "4711", name: "Ann", session: "s1", label: "phone", state: "active", createdAt: 1_790_000_000.5 };
const offer = { pairing: "p1", messenger: "telegram/default", code: "123-456", lines: ["Write to the bot: /pair 123-456", "The code works once."], expiresInSeconds: 300 };
const asked = { kind: "asked", text: "Ann (4711 on telegram/default) has sent the code.", withinSeconds: 30 };
const kept = { version: 1, bindings: [{ pairing: "p1", messenger: "telegram/default", person: "Ann", name: "phone", since: 1_790_000_000 }] };

/** A terminal that shows a code. */
async function pairing(t) {
  const one = scene(t);
  await one.connect();
  one.daemon.answers["pairing.begin"] = offer;
  one.shown = await one.pi.runCommand("relay", "connect telegram phone");
  one.wait = await one.daemon.next("pairing.wait");
  return one;
}

const notice = (pi, text) => pi.until(() => pi.notices.find((one) => one.text.includes(text)));

test("/relay connect MESSENGER shows the code and asks about the person who sends it", async (t) => {
  const { pi, daemon, shown, wait } = await pairing(t);
  assert.equal(shown.text, offer.lines.join("\n"));
  assert.deepEqual((await daemon.next("pairing.begin")).params, { messenger: "telegram", name: "phone" });
  assert.deepEqual(wait.params, { pairing: "p1" });
  daemon.answer(wait, asked);
  const dialog = await pi.until(() => pi.dialogs[0]);
  assert.equal(dialog.title, asked.text);
  dialog.answer("Allow");
  const decision = await daemon.next("pairing.decide");
  assert.deepEqual(decision.params, { pairing: "p1", decision: "once" });
  daemon.answer(decision, { text: "ok" });
  daemon.answer(await daemon.next("pairing.wait"), { kind: "paired", text: "Ann is paired." });
  assert.equal((await notice(pi, "Ann is paired.")).kind, "info");
});

for (const [choice, decision] of [["Allow, and do not ask about this person again", "trust"], ["Refuse", "deny"], [undefined, "deny"]]) {
  test(`the answer ${choice} is ${decision}`, async (t) => {
    const { pi, daemon, wait } = await pairing(t);
    daemon.answer(wait, asked);
    (await pi.until(() => pi.dialogs[0])).answer(choice);
    assert.equal((await daemon.next("pairing.decide")).params.decision, decision);
  });
}

test("a dialog that nobody answers is closed, nothing is decided, and the code goes on", async (t) => {
  const { pi, daemon, clock, wait } = await pairing(t);
  daemon.answer(wait, asked);
  await pi.until(() => pi.dialogs[0]);
  clock.advance(30_000);
  await daemon.next("pairing.wait");
  assert.equal(pi.dialogs.length, 0);
  assert.ok(!daemon.messages.some((one) => one.method === "pairing.decide"));
});

test("a decision that comes too late is told, and the code goes on", async (t) => {
  const { pi, daemon, wait } = await pairing(t);
  daemon.answers["pairing.decide"] = refusal(-32_000, "nobody waits for this confirmation any more");
  daemon.answer(wait, asked);
  (await pi.until(() => pi.dialogs[0])).answer("Allow");
  await daemon.next("pairing.wait");
  await notice(pi, "nobody waits for this confirmation");
});

test("a lost connection voids the code", async (t) => {
  const one = await pairing(t);
  await one.loseDaemon();
  await notice(one.pi, "the code is void");
});

test("where nobody can be asked no code is made", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  pi.ctx.hasUI = false;
  assert.match((await pi.runCommand("relay", "connect telegram")).text, /nobody can be asked here/);
  assert.ok(!daemon.messages.some((one) => one.method === "pairing.begin"));
});

test("pi's history keeps who is paired, without codes, conversations and accounts", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await daemon.next("pairing.list");
  daemon.answers["relay.status"] = { text: "" };
  daemon.answers["pairing.list"] = { pairings: [ann], trusted: [] };
  daemon.send({ method: "pairing.changed", params: {} });
  const entry = await pi.until(() => pi.entries.at(-1));
  assert.deepEqual([entry.customType, entry.data], ["relay-binding", kept]);
  assert.match((await pi.runCommand("relay", "status")).text, /^paired: Ann on telegram\/default \("phone"\)$/m);
  // The same list is kept once.
  daemon.send({ method: "pairing.changed", params: {} });
  await daemon.next("pairing.list");
  daemon.answers["pairing.list"] = { pairings: [], trusted: [] };
  daemon.send({ method: "pairing.changed", params: {} });
  await notice(pi, 'Ann on telegram/default ("phone") is no longer paired.');
  assert.deepEqual(pi.entries.map((one) => one.data.bindings.length), [1, 0]);
});

test("a session that is resumed shows its people before there is a daemon, and learns then who counts", async (t) => {
  const one = scene(t);
  one.pi.appendEntry("relay-binding", kept);
  await one.pi.emit("session_start", { reason: "resume" });
  assert.match((await one.pi.runCommand("relay", "status")).text, /^paired when last connected: Ann on telegram\/default/m);
  // What the history says gives no right: the daemon is not told of it.
  await one.daemon.start();
  await one.isConnected();
  await notice(one.pi, "is no longer paired.");
  assert.ok(!one.daemon.messages.some((message) => JSON.stringify(message).includes("Ann")));
  assert.deepEqual(one.pi.entries.at(-1).data, { version: 1, bindings: [] });
});

test("/relay disconnect forgets the people", async (t) => {
  const { connect, pi, daemon } = scene(t);
  daemon.answers["pairing.list"] = { pairings: [ann], trusted: [] };
  await connect();
  await pi.until(() => pi.entries.at(-1));
  daemon.answers["relay.disconnect"] = { text: "1 chat." };
  await pi.runCommand("relay", "disconnect");
  assert.deepEqual(pi.entries.at(-1).data.bindings, []);
});

test("/relay trusted and untrust", async (t) => {
  const { connect, pi, daemon } = scene(t);
  daemon.answers["pairing.list"] = { pairings: [ann], trusted: [{ instance: "telegram/default", person: "4711", name: "Ann", since: 1 }] };
  daemon.answers["pairing.untrust"] = {};
  await connect();
  assert.equal((await pi.runCommand("relay", "trusted")).text, 'Ann on telegram/default ("phone"), id 4711\nAnn on telegram/default, id 4711: trusted');
  assert.equal((await pi.runCommand("relay", "untrust telegram 4711")).text, "4711 is no longer trusted on telegram.");
  assert.deepEqual((await daemon.next("pairing.untrust")).params, { messenger: "telegram", user: "4711" });
  assert.match((await pi.runCommand("relay", "untrust telegram")).text, /write: \/relay untrust MESSENGER USER-ID/);
});

test("a chat may not pair anybody", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const response = await daemon.command({ type: "prompt", message: "/relay connect telegram" });
  assert.match(response.error, /works only in pi's own terminal/);
  assert.ok(!daemon.messages.some((one) => one.method === "pairing.begin"));
  assert.equal(pi.sent.length, 0);
});
