import assert from "node:assert/strict";
import { test } from "node:test";
import { scene } from "./support/scene.js";

const colours = {
  question: "Which colour?",
  options: [{ label: "red", description: "like fire" }, { label: "blue" }],
};
const asked = (daemon, method = "select") => daemon.event("extension_ui_request", (one) => one.method === method);
const withdrawn = async (daemon) => {
  const { type, ...rest } = await daemon.event("extension_ui_withdrawn");
  return rest;
};
/** The daemon passes the answer of a chat on. */
const answer = (daemon, { id }, said) => daemon.write(JSON.stringify({ type: "extension_ui_response", id, ...said }));
const textOf = (result) => result.content[0].text;

test("a question is asked in the terminal and in the chats at once", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", { ...colours, allowText: true });
  const { title, options } = await asked(daemon);
  assert.equal(title, colours.question);
  assert.deepEqual(options, ["red — like fire", "blue", "Something else (type an answer)"]);
  assert.deepEqual(pi.dialogs[0].options, options);
  pi.dialogs[0].answer("blue");
  assert.equal(textOf(await result), "blue");
});

test("an answer in a chat closes the terminal's dialog with a word about it", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", colours);
  answer(daemon, await asked(daemon), { value: "red — like fire" });
  assert.equal(textOf(await result), "red");
  assert.deepEqual(pi.dialogs, []);
  assert.deepEqual(pi.notices, [{ text: "Answered in a chat: red", kind: "info" }]);
});

test("an answer in the terminal withdraws the question in the chats and tells them the answer", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", colours);
  const { id } = await asked(daemon);
  pi.dialogs[0].answer("red — like fire");
  assert.equal(textOf(await result), "red");
  assert.deepEqual(await withdrawn(daemon), { id, reason: "answered in the terminal: red" });
});

test("an answer of the chat after that of the terminal changes nothing", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", colours);
  const question = await asked(daemon);
  pi.dialogs[0].answer("blue");
  answer(daemon, question, { value: "red — like fire" });
  assert.equal(textOf(await result), "blue");
  await daemon.command({ type: "get_state" });
  assert.deepEqual(pi.notices, []);
});

test("a question that is dismissed in the terminal is withdrawn, and the model hears that there is no answer", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", colours);
  const { id } = await asked(daemon);
  pi.dialogs[0].answer(undefined);
  assert.equal(textOf(await result), "There is no answer: the person dismissed the question.");
  assert.deepEqual(await withdrawn(daemon), { id, reason: "dismissed in the terminal" });
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

test("words of one's own from a chat are typed there in a second dialog", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", { ...colours, allowText: true });
  answer(daemon, await asked(daemon), { value: "Something else (type an answer)" });
  answer(daemon, await asked(daemon, "input"), { value: "green" });
  assert.equal(textOf(await result), "green");
  assert.deepEqual(pi.dialogs, []);
});

test("a question without options is typed", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", { question: "What name?" });
  assert.equal((await asked(daemon, "input")).title, "What name?");
  assert.equal(pi.dialogs[0].kind, "input");
  pi.dialogs[0].answer("Ada");
  assert.equal(textOf(await result), "Ada");
});

test("a question is asked again in the chats after a restart of the daemon, while the terminal's dialog stays", async (t) => {
  const one = scene(t);
  await one.connect();
  const result = one.pi.tool("ask_user", colours);
  const first = await asked(one.daemon);
  await one.loseDaemon();
  assert.equal(one.pi.dialogs.length, 1);
  await one.returnDaemon();
  const second = await asked(one.daemon);
  assert.deepEqual([second.title, second.options], [first.title, first.options]);
  assert.notEqual(second.id, first.id);
  answer(one.daemon, second, { value: "blue" });
  assert.equal(textOf(await result), "blue");
  assert.deepEqual(one.pi.dialogs, []);
});

test("a question that was answered while the daemon was gone is not asked again", async (t) => {
  const one = scene(t);
  await one.connect();
  const result = one.pi.tool("ask_user", colours);
  await asked(one.daemon);
  await one.loseDaemon();
  one.pi.dialogs[0].answer("blue");
  assert.equal(textOf(await result), "blue");
  await one.returnDaemon();
  await one.daemon.command({ type: "get_state" });
  assert.equal(one.daemon.events.filter((event) => event.type === "extension_ui_request").length, 1);
});

test("without the daemon the terminal alone answers", async (t) => {
  const one = scene(t);
  await one.connect();
  await one.loseDaemon();
  const result = one.pi.tool("ask_user", colours);
  one.pi.dialogs[0].answer("blue");
  assert.equal(textOf(await result), "blue");
});

test("a run that is stopped takes its question away everywhere", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const run = new AbortController();
  const result = pi.tool("ask_user", colours, run.signal);
  const { id } = await asked(daemon);
  run.abort();
  assert.equal(textOf(await result), "There is no answer: the run was stopped.");
  assert.deepEqual(pi.dialogs, []);
  assert.deepEqual(await withdrawn(daemon), { id, reason: "the run was stopped" });
});

test("a run that was stopped before asks nobody", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const run = new AbortController();
  run.abort();
  assert.equal(textOf(await pi.tool("ask_user", colours, run.signal)), "There is no answer: the run was stopped.");
  await daemon.request("no.such.method", {});
  assert.deepEqual([pi.dialogs, daemon.messages.map((one) => one.method)], [[], ["session.attach", "extension.hello", "pairing.list"]]);
});

test("a chat that cancels the question ends it in the terminal, too", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const result = pi.tool("ask_user", colours);
  answer(daemon, await asked(daemon), { cancelled: true });
  assert.equal(textOf(await result), "There is no answer: the person dismissed the question.");
  assert.deepEqual([pi.dialogs, pi.notices], [[], [{ text: "The question was dismissed in a chat.", kind: "info" }]]);
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
  assert.deepEqual(daemon.events, []);
});
