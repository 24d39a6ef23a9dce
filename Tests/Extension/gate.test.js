import assert from "node:assert/strict";
import { test } from "node:test";
import { refusal } from "./support/fake-daemon.js";
import { scene } from "./support/scene.js";

/** A terminal session in a turn that a chat asked for. */
async function remoteTurn(t, options) {
  const one = scene(t, options);
  await one.connect();
  await one.daemon.command({ id: "p1", type: "prompt", message: "push it" });
  return one;
}

test("a call of a chat's turn goes on when the daemon allows it", async (t) => {
  const { pi, daemon } = await remoteTurn(t);
  daemon.answers["extension.approve"] = { decision: "allow", by: "ann" };
  assert.equal(await pi.callTool("bash", { command: "git push" }, "call-9"), undefined);
  const { params } = await daemon.next("extension.approve");
  assert.deepEqual(params, { call: "call-9", tool: "bash", input: { command: "git push" }, cwd: "/work/api", withinSeconds: 120 });
});

test("a denied call is blocked with the reason", async (t) => {
  const { pi, daemon } = await remoteTurn(t);
  daemon.answers["extension.approve"] = { decision: "deny", reason: "Denied by ann." };
  assert.deepEqual(await pi.callTool("bash", { command: "git push" }), { block: true, reason: "Denied by ann." });
});

for (const answer of [{}, null, "allow", { decision: true }, { decision: "Allow" }, { decision: "yes" }]) {
  test(`the answer ${JSON.stringify(answer)} blocks`, async (t) => {
    const { pi, daemon } = await remoteTurn(t);
    daemon.answers["extension.approve"] = answer;
    assert.equal((await pi.callTool("bash", {})).block, true);
  });
}

test("an error of the daemon blocks", async (t) => {
  const { pi, daemon } = await remoteTurn(t);
  daemon.answers["extension.approve"] = refusal(-32603, "the rules cannot be read");
  assert.deepEqual(await pi.callTool("bash", {}), { block: true, reason: "Not approved: the rules cannot be read." });
});

test("a question that nobody answers blocks when its time is over, and is withdrawn", async (t) => {
  const one = scene(t);
  one.daemon.approvals = { enabled: true, timeoutSeconds: 30 };
  await one.connect();
  await one.daemon.command({ type: "prompt", message: "push it" });
  const call = one.pi.callTool("bash", {});
  const { id } = await one.daemon.next("extension.approve");
  one.clock.advance(34_999);
  await one.daemon.request("no.such.method", {});
  assert.equal(one.pi.status, "relay: waits for approval of bash");
  one.clock.advance(1);
  assert.deepEqual(await call, { block: true, reason: "Not approved: the daemon did not answer in time." });
  assert.equal((await one.daemon.next("extension.withdraw")).params.request, id);
  assert.equal(one.pi.status, "relay: api on box");
});

test("an answer after the time is over approves nothing", async (t) => {
  const { pi, daemon, clock } = await remoteTurn(t);
  const call = pi.callTool("bash", {});
  const late = await daemon.next("extension.approve");
  clock.advance(200_000);
  assert.equal((await call).block, true);
  daemon.answer(late, { decision: "allow" });
  const next = pi.callTool("bash", {});
  daemon.answer(await daemon.next("extension.approve"), { decision: "deny", reason: "no" });
  assert.deepEqual(await next, { block: true, reason: "no" });
});

test("a question that the daemon took with it is asked anew when it is back", async (t) => {
  const one = await remoteTurn(t);
  const call = one.pi.callTool("bash", { command: "git push" });
  const first = await one.daemon.next("extension.approve");
  await one.loseDaemon();
  await one.returnDaemon();
  const second = await one.daemon.next("extension.approve");
  assert.deepEqual([second.params, second.connection], [first.params, first.connection + 2]);
  one.daemon.answer(second, { decision: "allow" });
  assert.equal(await call, undefined);
});

test("the decision about the question of an earlier connection has no effect", async (t) => {
  const one = await remoteTurn(t);
  const call = one.pi.callTool("bash", {});
  const first = await one.daemon.next("extension.approve");
  await one.loseDaemon();
  await one.returnDaemon();
  const second = await one.daemon.next("extension.approve");
  assert.notEqual(second.id, first.id);
  one.daemon.answer(first, { decision: "allow" });
  one.daemon.answer(second, { decision: "deny", reason: "no" });
  assert.deepEqual(await call, { block: true, reason: "no" });
});

test("a daemon that does not come back approves nothing", async (t) => {
  const one = await remoteTurn(t);
  const call = one.pi.callTool("bash", {});
  await one.daemon.next("extension.approve");
  await one.loseDaemon();
  one.clock.advance(20_000);
  assert.deepEqual(await call, { block: true, reason: "Not approved: pi-relay cannot ask, because the daemon closed the connection." });
});

test("a call that begins without the daemon is blocked in a chat's turn", async (t) => {
  const one = await remoteTurn(t);
  await one.loseDaemon();
  const call = one.pi.callTool("bash", {});
  await one.pi.until(() => one.clock.waits.includes(20_000));
  one.clock.advance(20_000);
  assert.equal((await call).block, true);
});

test("after /relay disconnect a chat's turn is blocked at once", async (t) => {
  const one = await remoteTurn(t);
  one.daemon.answers["relay.disconnect"] = { text: "No chat follows it any more." };
  await one.pi.runCommand("relay", "disconnect");
  assert.equal((await one.pi.callTool("bash", {})).block, true);
});

test("a call that waits for the daemon is blocked when the person disconnects", async (t) => {
  const one = await remoteTurn(t);
  await one.loseDaemon();
  const call = one.pi.callTool("bash", {});
  await one.pi.runCommand("relay", "disconnect");
  assert.equal((await call).block, true);
});

test("a run that is stopped withdraws its question", async (t) => {
  const { pi, daemon } = await remoteTurn(t);
  const call = pi.callTool("bash", {});
  const { id } = await daemon.next("extension.approve");
  pi.signal.abort();
  assert.deepEqual(await call, { block: true, reason: "Not approved: the run was stopped." });
  assert.equal((await daemon.next("extension.withdraw")).params.request, id);
});

test("where approvals were off when the daemon left, no call waits for it", async (t) => {
  const one = scene(t);
  one.daemon.approvals = { enabled: false, timeoutSeconds: 0 };
  await one.connect();
  await one.daemon.command({ type: "prompt", message: "push it" });
  await one.loseDaemon();
  assert.equal(await one.pi.callTool("bash", {}), undefined);
});

test("approvals that are turned on later are asked for from the next call", async (t) => {
  const one = scene(t);
  one.daemon.approvals = { enabled: false, timeoutSeconds: 0 };
  await one.connect();
  await one.daemon.command({ type: "prompt", message: "push it" });
  one.daemon.answers["extension.approve"] = { decision: "deny", reason: "no" };
  assert.equal((await one.pi.callTool("bash", {})).block, true);
});

test("approvals that were turned on are asked for also when the daemon has left since", async (t) => {
  const one = scene(t);
  one.daemon.approvals = { enabled: false, timeoutSeconds: 0 };
  await one.connect();
  await one.daemon.command({ type: "prompt", message: "push it" });
  one.daemon.send({ method: "extension.settings", params: { approvals: { enabled: true, timeoutSeconds: 60 } } });
  await one.daemon.command({ type: "get_state" });
  await one.loseDaemon();
  const call = one.pi.callTool("bash", {});
  one.clock.advance(20_000);
  assert.equal((await call).block, true);
});

test("a call that was asked about is not let through when the daemon leaves", async (t) => {
  const one = scene(t);
  one.daemon.approvals = { enabled: false, timeoutSeconds: 0 };
  await one.connect();
  await one.daemon.command({ type: "prompt", message: "push it" });
  const call = one.pi.callTool("bash", {});
  await one.daemon.next("extension.approve");
  await one.loseDaemon();
  one.clock.advance(20_000);
  assert.equal((await call).block, true);
});

test("settings that are not understood leave approvals on", async (t) => {
  const one = scene(t);
  one.daemon.answers["extension.hello"] = { machine: "box", session: { id: "s1", name: "api" } };
  await one.connect();
  await one.daemon.command({ type: "prompt", message: "push it" });
  one.daemon.answers["extension.approve"] = { decision: "deny", reason: "no" };
  assert.equal((await one.pi.callTool("bash", {})).block, true);
});

test("a turn that began in the terminal never asks, with the daemon or without", async (t) => {
  const one = scene(t);
  await one.connect();
  await one.pi.type("push it");
  assert.equal(await one.pi.callTool("bash", {}), undefined);
  await one.loseDaemon();
  assert.equal(await one.pi.callTool("bash", {}), undefined);
  assert.equal(one.daemon.messages.some((message) => message.method === "extension.approve"), false);
});

test("a local turn right after a chat's turn does not ask", async (t) => {
  const { pi } = await remoteTurn(t);
  await pi.answerWith("pushed");
  await pi.endRun();
  await pi.type("and now here");
  assert.equal(await pi.callTool("bash", {}), undefined);
});

test("a turn that another extension begins after a chat's turn does not ask", async (t) => {
  const { pi } = await remoteTurn(t);
  await pi.answerWith("pushed");
  await pi.endRun();
  // A message of an extension's own kind begins a run without a message of the user.
  await pi.emit("agent_start");
  assert.equal(await pi.callTool("bash", {}), undefined);
});

test("a local follow-up in the same run is a turn of its own; local steering leaves the turn the chat's", async (t) => {
  const { pi, daemon } = await remoteTurn(t);
  daemon.answers["extension.approve"] = { decision: "deny", reason: "no" };
  await pi.answerWith("I call a tool", "toolUse");
  await pi.emit("input", { text: "carefully", source: "interactive", streamingBehavior: "steer" });
  await pi.takeMessage("carefully");
  assert.equal((await pi.callTool("bash", {})).block, true);
  await pi.answerWith("done");
  await pi.emit("input", { text: "now mine", source: "interactive", streamingBehavior: "followUp" });
  await pi.takeMessage("now mine");
  assert.equal(await pi.callTool("bash", {}), undefined);
});

test("a chat's steering makes a local turn the chat's", async (t) => {
  const one = scene(t);
  await one.connect();
  await one.pi.type("work");
  await one.pi.answerWith("I call a tool", "toolUse");
  await one.daemon.command({ type: "steer", message: "and push" });
  await one.pi.takeMessage("and push");
  one.daemon.answers["extension.approve"] = { decision: "deny", reason: "no" };
  assert.equal((await one.pi.callTool("bash", {})).block, true);
});

test("a retry of a chat's turn is still the chat's", async (t) => {
  const { pi, daemon } = await remoteTurn(t);
  daemon.answers["extension.approve"] = { decision: "deny", reason: "no" };
  await pi.answerWith("", "error");
  await pi.emit("agent_end", { messages: [] });
  await pi.emit("agent_start");
  assert.equal((await pi.callTool("bash", {})).block, true);
});

test("a run that pi calls settled too early is still the chat's", async (t) => {
  const { pi, daemon } = await remoteTurn(t);
  daemon.answers["extension.approve"] = { decision: "deny", reason: "no" };
  await pi.settleEarly();
  assert.equal((await pi.callTool("bash", {})).block, true);
});

test("a text that both sides sent counts as the chat's", async (t) => {
  const one = scene(t);
  await one.connect();
  one.daemon.answers["extension.approve"] = { decision: "deny", reason: "no" };
  // Another extension has taken the typed text: it never comes.
  await one.pi.emit("input", { text: "go", source: "interactive" });
  await one.daemon.command({ type: "prompt", message: "go" });
  assert.equal((await one.pi.callTool("bash", {})).block, true);
});

test("a queued text that both sides sent counts as the chat's", async (t) => {
  const one = scene(t);
  await one.connect();
  one.daemon.answers["extension.approve"] = { decision: "deny", reason: "no" };
  await one.pi.emit("input", { text: "go", source: "interactive" });
  await one.pi.type("work");
  await one.daemon.command({ type: "follow_up", message: "go" });
  await one.pi.answerWith("done");
  await one.pi.takeMessage("go");
  assert.equal((await one.pi.callTool("bash", {})).block, true);
});

test("a text of the chat that another extension has changed is still the chat's", async (t) => {
  const one = scene(t);
  await one.connect();
  one.daemon.answers["extension.approve"] = { decision: "deny", reason: "no" };
  await one.pi.type("work");
  await one.daemon.command({ type: "follow_up", message: "push it" });
  await one.pi.answerWith("done");
  await one.pi.emit("input", { text: "/mine", source: "interactive", streamingBehavior: "followUp" });
  await one.pi.takeMessage("Politely: push it");
  assert.equal((await one.pi.callTool("bash", {})).block, true);
});

test("a turn that a command begins for a chat is the chat's", async (t) => {
  const one = scene(t);
  await one.connect();
  one.daemon.answers["extension.approve"] = { decision: "deny", reason: "no" };
  one.pi.otherCommands = [{ name: "ship", source: "extension" }];
  void one.daemon.command({ type: "prompt", message: "/ship" });
  await one.pi.until(() => one.pi.extensionCommandsRun.length === 1);
  await one.pi.emit("agent_start");
  assert.equal((await one.pi.callTool("bash", {})).block, true);
});

test("an input that is too long for a line is cut and marked", async (t) => {
  const { pi, daemon } = await remoteTurn(t);
  daemon.answers["extension.approve"] = { decision: "deny", reason: "no" };
  await pi.callTool("write", { path: "a.txt", content: "w".repeat(3 << 20), edits: [{ newText: "e".repeat(100_000) }] });
  const { params } = await daemon.next("extension.approve");
  assert.equal(params.truncated, true);
  assert.deepEqual([params.input.path, params.input.content.length, params.input.edits[0].newText.length], ["a.txt", 65_536, 65_536]);
});
