import assert from "node:assert/strict";
import { test } from "node:test";
import { refusal } from "./support/fake-daemon.js";
import { scene } from "./support/scene.js";

const colours = {
  question: "Which colour?",
  options: [{ label: "red", description: "like fire" }, { label: "blue" }],
};
const textOf = (result) => result.content[0].text;

test("a question is asked in the terminal and in the chats at once", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", { ...colours, allowText: true });
  const { params } = await daemon.next("extension.ask");
  assert.deepEqual(params, { ...colours, allowText: true });
  assert.deepEqual(pi.dialogs[0].options, ["red — like fire", "blue", "Something else (type an answer)"]);
  pi.dialogs[0].answer("blue");
  assert.equal(textOf(await result), "blue");
});

test("an answer in a chat closes the terminal's dialog with a word about it", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", colours);
  daemon.answer(await daemon.next("extension.ask"), { answer: "red", by: "ann" });
  assert.equal(textOf(await result), "red");
  assert.deepEqual(pi.dialogs, []);
  assert.deepEqual(pi.notices, [{ text: "Answered by ann: red", kind: "info" }]);
});

test("an answer in the terminal withdraws the question in the chats and tells them the answer", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", colours);
  const { id } = await daemon.next("extension.ask");
  pi.dialogs[0].answer("red — like fire");
  assert.equal(textOf(await result), "red");
  assert.deepEqual((await daemon.next("extension.withdraw")).params, { request: id, answer: "red", by: "terminal" });
});

test("an answer of the chat after that of the terminal changes nothing", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", colours);
  const asked = await daemon.next("extension.ask");
  pi.dialogs[0].answer("blue");
  daemon.answer(asked, { answer: "red" });
  assert.equal(textOf(await result), "blue");
  await daemon.command({ type: "get_state" });
  assert.deepEqual(pi.notices, []);
});

test("a question that is dismissed in the terminal is withdrawn, and the model hears that there is no answer", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", colours);
  await daemon.next("extension.ask");
  pi.dialogs[0].answer(undefined);
  assert.equal(textOf(await result), "There is no answer: the person dismissed the question.");
  assert.equal((await daemon.next("extension.withdraw")).params.why, "the person dismissed the question");
});

test("words of one's own are typed in a second dialog", async (t) => {
  const { connect, pi } = scene(t);
  await connect();
  const result = pi.tool("ask_user", { ...colours, allowText: true });
  pi.dialogs[0].answer("Something else (type an answer)");
  const typed = await pi.until(() => pi.dialogs.find((one) => one.kind === "input"));
  typed.answer("green");
  assert.equal(textOf(await result), "green");
});

test("a question without options is typed", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", { question: "What name?" });
  assert.equal((await daemon.next("extension.ask")).params.allowText, true);
  assert.equal(pi.dialogs[0].kind, "input");
  pi.dialogs[0].answer("Ada");
  assert.equal(textOf(await result), "Ada");
});

test("a question is asked again in the chats after a restart of the daemon, while the terminal's dialog stays", async (t) => {
  const one = scene(t);
  await one.connect();
  const result = one.pi.tool("ask_user", colours);
  const first = await one.daemon.next("extension.ask");
  await one.loseDaemon();
  assert.equal(one.pi.dialogs.length, 1);
  await one.returnDaemon();
  const second = await one.daemon.next("extension.ask");
  assert.deepEqual([second.params, second.connection], [first.params, first.connection + 2]);
  one.daemon.answer(second, { answer: "blue" });
  assert.equal(textOf(await result), "blue");
  assert.deepEqual(one.pi.dialogs, []);
});

test("a question that was answered while the daemon was gone is not asked again", async (t) => {
  const one = scene(t);
  await one.connect();
  const result = one.pi.tool("ask_user", colours);
  await one.daemon.next("extension.ask");
  await one.loseDaemon();
  one.pi.dialogs[0].answer("blue");
  assert.equal(textOf(await result), "blue");
  await one.returnDaemon();
  await one.daemon.command({ type: "get_state" });
  assert.equal(one.daemon.messages.filter((message) => message.method === "extension.ask").length, 1);
});

test("without the daemon, or where no chat follows, the terminal alone answers", async (t) => {
  const one = scene(t);
  await one.connect();
  one.daemon.answers["extension.ask"] = refusal(-32004, "nobody follows this session");
  const first = one.pi.tool("ask_user", colours);
  await one.daemon.next("extension.ask");
  await one.daemon.command({ type: "get_state" });
  one.pi.dialogs[0].answer("red — like fire");
  assert.equal(textOf(await first), "red");
  await one.loseDaemon();
  const second = one.pi.tool("ask_user", colours);
  one.pi.dialogs[0].answer("blue");
  assert.equal(textOf(await second), "blue");
});

test("a run that is stopped takes its question away everywhere", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const run = new AbortController();
  const result = pi.tool("ask_user", colours, run.signal);
  const { id } = await daemon.next("extension.ask");
  run.abort();
  assert.equal(textOf(await result), "There is no answer: the run was stopped.");
  assert.deepEqual(pi.dialogs, []);
  assert.equal((await daemon.next("extension.withdraw")).params.request, id);
});

test("a run that was stopped before asks nobody", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const run = new AbortController();
  run.abort();
  assert.equal(textOf(await pi.tool("ask_user", colours, run.signal)), "There is no answer: the run was stopped.");
  await daemon.request("no.such.method", {});
  assert.deepEqual([pi.dialogs, daemon.messages.length], [[], 2]);
});

test("a chat that cancels the question ends it in the terminal, too", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", colours);
  daemon.answer(await daemon.next("extension.ask"), { cancelled: "ann cancelled it" });
  assert.equal(textOf(await result), "There is no answer: ann cancelled it.");
  assert.deepEqual([pi.dialogs, pi.notices], [[], [{ text: "The question was withdrawn: ann cancelled it", kind: "info" }]]);
});

test("a question that cannot be asked is an error that says what to change", async (t) => {
  const { connect, pi } = scene(t);
  await connect();
  await assert.rejects(pi.tool("ask_user", { question: " " }), /question: the text is missing/);
  await assert.rejects(pi.tool("ask_user", { question: "q", options: [{ label: "" }] }), /each needs a label/);
  await assert.rejects(pi.tool("ask_user", { question: "q", options: [{ label: "a" }, { label: "a" }] }), /must be different/);
});

test("a session of the daemon asks in pi's own dialogs, which the daemon shows", async (t) => {
  const { connect, pi, daemon } = scene(t, { child: true, pi: { mode: "rpc" } });
  await connect();
  const result = pi.tool("ask_user", colours);
  pi.dialogs[0].answer("blue");
  assert.equal(textOf(await result), "blue");
  assert.equal(daemon.messages.some((message) => message.method === "extension.ask"), false);
});
