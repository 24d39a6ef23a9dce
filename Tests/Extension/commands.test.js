import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fillTemplate, splitArguments, withoutFrontMatter } from "../../extension/lib/template-text.js";
import { scene } from "./support/scene.js";

test("a prompt begins a run, and its answer names the command", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const response = await daemon.command({ id: "p1", type: "prompt", message: "hello" });
  assert.deepEqual(response, { id: "p1", type: "response", command: "prompt", success: true, data: { disposition: "started" } });
  // A run that begins in the terminal at the same time queues it.
  assert.deepEqual(pi.sent, [{ content: "hello", options: { deliverAs: "followUp" } }]);
});

test("a prompt while pi works is queued as a follow-up and answered at once", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.type("work");
  const queued = await daemon.command({ type: "prompt", message: "more" });
  assert.deepEqual([queued.success, queued.data.disposition], [true, "queued"]);
  await daemon.command({ type: "prompt", message: "other", streamingBehavior: "steer" });
  assert.deepEqual(pi.sent.map((one) => [one.content, one.options.deliverAs]), [["more", "followUp"], ["other", "steer"]]);
});

test("steering and a follow-up are queued with their own mode", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await pi.type("work");
  await daemon.command({ type: "steer", message: "left" });
  await daemon.command({ type: "follow_up", message: "then right" });
  assert.deepEqual(pi.sent.map((one) => one.options.deliverAs), ["steer", "followUp"]);
});

test("two prompts in one write both run: the second waits for the run of the first", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  // The test begins the run.
  pi.isStuck = true;
  const both = Promise.all(["one", "two"].map((message) => daemon.command({ type: "prompt", message })));
  await pi.until(() => pi.sent.length === 1);
  await daemon.command({ type: "get_state" });
  assert.deepEqual(pi.sent.map((one) => one.content), ["one"]);
  await pi.beginRun("one");
  assert.deepEqual((await both).map((one) => one.data.disposition), ["started", "queued"]);
  assert.deepEqual(pi.sent.map((one) => one.content), ["one", "two"]);
});

test("a message whose skill has to be read first is not overtaken", async (t) => {
  const { connect, folder, pi, daemon } = scene(t);
  await connect();
  await pi.type("work");
  writeFileSync(join(folder, "SKILL.md"), "Do it.");
  pi.otherCommands = [{ name: "skill:s", source: "skill", sourceInfo: { path: join(folder, "SKILL.md") } }];
  await Promise.all(["/skill:s", "second"].map((message) => daemon.command({ type: "follow_up", message })));
  assert.match(pi.sent[0].content, /Do it\./);
  assert.equal(pi.sent[1].content, "second");
});

test("a prompt with which pi begins nothing fails after 30 s, and counts as the chat's if it begins later", async (t) => {
  const { connect, pi, daemon, clock } = scene(t);
  await connect();
  pi.isStuck = true;
  const response = daemon.command({ id: "p1", type: "prompt", message: "hello" });
  await pi.until(() => pi.sent.length === 1);
  clock.advance(30_000);
  assert.match((await response).error, /has not begun a run within 30 s/);
  await pi.beginRun("hello");
  assert.equal((await daemon.event("message_start")).source, "relay");
  assert.equal(daemon.responses.filter((one) => one.id === "p1").length, 1);
});

test("a prompt that pi could not run without a model or a key is refused at once, and does not count as the chat's", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  Object.assign(pi, { hasKey: false, key: undefined });
  assert.match((await daemon.command({ type: "prompt", message: "hello" })).error, /^pi has no key for fake; type \/login/);
  const { model } = pi;
  pi.model = undefined;
  assert.match((await daemon.command({ type: "prompt", message: "hello" })).error, /^pi has no model; choose one with \/model/);
  assert.deepEqual([pi.sent, pi.errors], [[], []]);
  // A key that pi has found since.
  Object.assign(pi, { model, key: { apiKey: "k" } });
  await pi.type("hello");
  assert.equal((await daemon.event("message_start")).source, "interactive");
  await pi.endRun();
  assert.equal((await daemon.command({ type: "prompt", message: "hello" })).success, true);
});

test("an error that pi throws is the answer to the prompt", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  pi.sendUserMessage = () => {
    throw new Error("the runtime is stale");
  };
  assert.equal((await daemon.command({ type: "prompt", message: "hello" })).error, "the runtime is stale");
});

test("images come with the prompt, however long its line is", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const image = { type: "image", data: "A".repeat(12 << 20), mimeType: "image/png" };
  await daemon.command({ type: "prompt", message: "look", images: [image] });
  assert.deepEqual(pi.sent[0].content, [{ type: "text", text: "look" }, image]);
  await pi.takeMessage("look");
});

test("the state is that of pi, without the model's addresses and headers", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  pi.entries = [{ id: "e1", type: "message", message: { role: "user" } }, { id: "e2", type: "model_change" }];
  assert.deepEqual((await daemon.command({ type: "get_state" })).data, {
    model: { id: "fake-1", name: "Fake 1", provider: "fake" },
    thinkingLevel: "off",
    isStreaming: false,
    isCompacting: false,
    sessionFile: "/sessions/pi-1.jsonl",
    sessionId: "pi-1",
    messageCount: 1,
    pendingMessageCount: 0,
  });
});

test("entries come since one of them, and the newest that fit into a line", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  pi.entries = Array.from({ length: 30 }, (_, index) => ({ id: `e${index}`, type: "message", message: { role: "user", content: "c".repeat(100_000) } }));
  const { entries, leafId, truncated } = (await daemon.command({ type: "get_entries" })).data;
  assert.deepEqual([entries.length, entries.at(-1).id, leafId, truncated], [10, "e29", "e29", true]);
  const since = (await daemon.command({ type: "get_entries", since: "e27" })).data;
  assert.deepEqual([since.entries.map((one) => one.id), since.truncated], [["e28", "e29"], undefined]);
  assert.match((await daemon.command({ type: "get_entries", since: "gone" })).error, /not found/);
  assert.equal((await daemon.command({ type: "get_messages" })).data.messages.length, 10);
});

test("the last answer and the statistics are read from the session", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  assert.deepEqual((await daemon.command({ type: "get_last_assistant_text" })).data, {});
  const usage = { input: 3, output: 4, totalTokens: 7, cost: { total: 0.5 } };
  pi.entries = [
    { id: "e1", type: "message", message: { role: "user", content: "q" } },
    { id: "e2", type: "message", message: { role: "assistant", content: [{ type: "toolCall" }, { type: "text", text: "a" }], usage } },
  ];
  assert.deepEqual((await daemon.command({ type: "get_last_assistant_text" })).data, { text: "a" });
  const { data } = await daemon.command({ type: "get_session_stats" });
  assert.deepEqual([data.userMessages, data.assistantMessages, data.toolCalls, data.tokens.total, data.cost, data.contextUsage.tokens], [1, 1, 1, 7, 0.5, 10]);
});

test("abort, the name, the model and the thinking level reach pi", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  await daemon.command({ type: "abort" });
  await daemon.command({ type: "shutdown" });
  await daemon.command({ type: "set_session_name", name: " payments " });
  await daemon.command({ type: "set_thinking_level", level: "high" });
  const model = await daemon.command({ type: "set_model", provider: "fake", modelId: "fake-2" });
  assert.deepEqual([pi.shutdowns, pi.aborts, pi.name, pi.level, pi.model.id, model.data.id], [1, 1, "payments", "high", "fake-2", "fake-2"]);
  assert.equal((await daemon.command({ type: "set_model", provider: "fake", modelId: "fake-9" })).error, "Model not found: fake/fake-9");
  assert.equal((await daemon.command({ type: "set_session_name", name: " " })).success, false);
  assert.match((await daemon.command({ type: "set_thinking_level", level: "bogus" })).error, /no thinking level "bogus"; there are: off, .*, max$/);
  assert.equal(pi.level, "high");
});

test("models are listed without addresses and headers", async (t) => {
  const { connect, daemon } = scene(t);
  await connect();
  const { models } = (await daemon.command({ type: "get_available_models" })).data;
  assert.deepEqual(models, [{ id: "fake-1", name: "Fake 1", provider: "fake" }, { id: "fake-2", provider: "fake" }]);
});

test("a compaction is answered when it is over", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const done = daemon.command({ type: "compact", customInstructions: "keep names" });
  const [first] = await pi.until(() => pi.compactions.length === 1 && pi.compactions);
  assert.equal(first.customInstructions, "keep names");
  first.onComplete({ summary: "s" });
  assert.deepEqual((await done).data, { summary: "s" });
  const failed = daemon.command({ type: "compact" });
  const [, second] = await pi.until(() => pi.compactions.length === 2 && pi.compactions);
  second.onError(new Error("Nothing to compact"));
  assert.equal((await failed).error, "Nothing to compact");
});

test("a skill is given whole at first, and as a reminder until the session is compacted", async (t) => {
  const { connect, folder, pi, daemon } = scene(t);
  await connect();
  mkdirSync(join(folder, "deploy"));
  writeFileSync(join(folder, "deploy/SKILL.md"), "---\nname: deploy\n---\nRun deploy.sh.\n");
  pi.otherCommands = [{ name: "skill:deploy", source: "skill", sourceInfo: { path: join(folder, "deploy/SKILL.md"), baseDir: folder } }];
  const send = async () => {
    await daemon.command({ type: "prompt", message: "/skill:deploy to staging", streamingBehavior: "followUp" });
    return pi.sent.at(-1).content;
  };
  const whole = await send();
  assert.match(whole, /^<skill name="deploy" location=".*SKILL\.md">\nPaths in this skill are relative to [^\n]*\/deploy\.\n\nRun deploy\.sh\.\n<\/skill>\n\nto staging$/);
  assert.match(await send(), /^Use the skill "deploy" again, .*\n\nto staging$/);
  await pi.emit("session_switch", { reason: "resume" });
  await daemon.next("session.attach");
  assert.equal(await send(), whole);
  await pi.emit("session_compact", {});
  assert.equal(await send(), whole);
});

test("a skill that pi did not take is given whole again", async (t) => {
  const { connect, folder, pi, daemon } = scene(t);
  await connect();
  writeFileSync(join(folder, "SKILL.md"), "Do it.");
  pi.otherCommands = [{ name: "skill:s", source: "skill", sourceInfo: { path: join(folder, "SKILL.md") } }];
  const { model } = pi;
  pi.model = undefined;
  await daemon.command({ type: "prompt", message: "/skill:s" });
  pi.model = model;
  await daemon.command({ type: "prompt", message: "/skill:s" });
  assert.match(pi.sent.at(-1).content, /Do it\./);
});

test("a template is filled, and one that cannot be read is an error", async (t) => {
  const { connect, folder, pi, daemon } = scene(t);
  await connect();
  writeFileSync(join(folder, "review.md"), "---\ndescription: d\n---\nReview $1 for ${2:-bugs}.");
  pi.otherCommands = [
    { name: "review", source: "prompt", sourceInfo: { path: join(folder, "review.md") } },
    { name: "gone", source: "prompt", sourceInfo: { path: join(folder, "gone.md") } },
  ];
  await daemon.command({ type: "prompt", message: "/review a.js" });
  assert.equal(pi.sent[0].content, "Review a.js for bugs.");
  assert.match((await daemon.command({ type: "prompt", message: "/gone", streamingBehavior: "steer" })).error, /could not be expanded/);
});

test("placeholders of templates", () => {
  const fill = (template) => fillTemplate(template, `one "two words" $1`);
  assert.equal(fill("$2|$3|$9|$@|$ARGUMENTS"), "two words|$1||one two words $1|one two words $1");
  assert.equal(fill("${@:2}|${@:2:1}|${4:-none}|${@:-all}|${ARGUMENTS:-x}"), "two words $1|two words|none|one two words $1|one two words $1");
  assert.equal(fillTemplate("${@:-all} ${ARGUMENTS:-every}", ""), "all every");
  assert.deepEqual(splitArguments(`a 'b c' d"e f"g`), ["a", "b c", "de fg"]);
  assert.deepEqual(splitArguments(`don't stop "all of it"`), ["don't", "stop", "all of it"]);
  assert.deepEqual(splitArguments(`what's it's "" "o'clock" say "no 'never`), ["what's", "it's", "o'clock", "say", '"no', "'never"]);
  assert.equal(withoutFrontMatter("---\r\na: b\r\n---\r\nbody\n---\nend"), "body\n---\nend");
});

test("a command of another extension is run by pi", async (t) => {
  const { connect, pi, daemon, clock } = scene(t);
  await connect();
  pi.otherCommands = [{ name: "lint", source: "extension" }];
  const response = daemon.command({ type: "prompt", message: "/lint all" });
  await pi.until(() => pi.extensionCommandsRun.length === 1);
  clock.advance(2_000);
  assert.equal((await response).data.disposition, "handled");
  assert.deepEqual(pi.extensionCommandsRun, ["/lint all"]);
  assert.match((await daemon.command({ type: "steer", message: "/lint all" })).error, /send it as a prompt/);
});

test("a release of pi that does not run such commands gives their text to nobody", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  pi.runsCommands = false;
  pi.otherCommands = [{ name: "lint", source: "extension" }];
  assert.match((await daemon.command({ type: "prompt", message: "/lint all" })).error, /update pi/);
  assert.equal(pi.isIdle, true);
});

test("while a chat's command runs, the same text can be typed", async (t) => {
  const { connect, pi, daemon, clock } = scene(t);
  await connect();
  pi.otherCommands = [{ name: "lint", source: "extension" }];
  let isSent = false;
  pi.sendUserMessage = () => {
    isSent = true;
    pi.happened();
  };
  const response = daemon.command({ type: "prompt", message: "/lint" });
  await pi.until(() => isSent);
  assert.deepEqual(await pi.emit("input", { text: "/lint", source: "interactive" }), []);
  // A command that takes long counts as handled.
  clock.advance(2_000);
  assert.equal((await response).data.disposition, "handled");
});

test("pi's own commands are carried out or refused by name; any other text with a slash is text", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  assert.equal((await daemon.command({ type: "prompt", message: "/settings" })).error, "/settings works only in pi's own terminal");
  await daemon.command({ type: "prompt", message: "/name payments" });
  assert.equal(pi.name, "payments");
  void daemon.command({ type: "prompt", message: "/compact keep names" });
  assert.equal((await pi.until(() => pi.compactions[0])).customInstructions, "keep names");
  await daemon.command({ type: "prompt", message: "/etc/hosts is empty" });
  assert.equal(pi.sent[0].content, "/etc/hosts is empty");
});

test("a chat cannot use the commands of the person at the terminal", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  for (const message of ["/relay send-file a.md", "/relay", "/relay:1 disconnect", "/pidash stop"]) {
    assert.match((await daemon.command({ type: "prompt", message })).error, /works only in pi's own terminal/);
  }
  assert.deepEqual([pi.sent, pi.programs], [[], []]);
  const { commands } = (await daemon.command({ type: "get_commands" })).data;
  assert.deepEqual(commands.map((one) => one.name), ["bridge:status", "bridge:ping"]);
});

test("a ping from a chat answers once, without the model", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  assert.equal((await daemon.command({ type: "prompt", message: "/bridge:ping are you there" })).data.disposition, "handled");
  assert.deepEqual(daemon.events.filter((one) => one.type === "bridge_pong"), [{ type: "bridge_pong", text: "are you there" }]);
  assert.deepEqual(pi.sent, []);
  await daemon.command({ type: "prompt", message: "/bridge:pingX" });
  assert.equal(pi.sent[0].content, "/bridge:pingX");
});
