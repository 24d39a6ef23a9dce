import assert from "node:assert/strict";
import { test } from "node:test";
import { refusal } from "./support/fake-daemon.js";
import { scene } from "./support/scene.js";

const textOf = (result) => result.content[0].text;

test("the model hears of the tools once a daemon is there, and once only", async (t) => {
  const one = scene(t);
  await one.connect();
  assert.deepEqual([...one.pi.tools.keys()], ["relay_send", "discord_send", "relay_send_file", "ask_user", "spawn_session"]);
  let registrations = 0;
  one.pi.registerTool = () => (registrations += 1);
  await one.loseDaemon();
  await one.returnDaemon();
  assert.equal(registrations, 0);
});

test("a text is sent to the chat under both names of the tool", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  daemon.answers["extension.send"] = {};
  for (const name of ["relay_send", "discord_send"]) {
    assert.equal(textOf(await pi.tool(name, { text: `with ${name}` })), "Sent.");
    assert.deepEqual((await daemon.next("extension.send")).params, { text: `with ${name}` });
  }
  await assert.rejects(pi.tool("relay_send", { text: " " }), /text: it is empty/);
});

test("the refusal of the daemon is the error of the tool", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  const said = "This turn began in the terminal: there is no chat to send to.";
  daemon.answers["extension.send"] = refusal(-32004, said);
  daemon.answers["extension.sendFile"] = refusal(-32602, "hidden files are not sent");
  await assert.rejects(pi.tool("relay_send", { text: "hi" }), { message: said });
  await assert.rejects(pi.tool("relay_send_file", { path: ".env" }), { message: "hidden files are not sent" });
});

test("a file is sent by its path as the model gave it, without the sign that pi allows before it", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  daemon.answers["extension.sendFile"] = { name: "report.md" };
  assert.equal(textOf(await pi.tool("relay_send_file", { path: "@out/report.md", caption: "Here" })), "Sent report.md.");
  assert.deepEqual((await daemon.next("extension.sendFile")).params, { path: "out/report.md", caption: "Here" });
});

test("a session is started in a folder relative to this one, and named in the result", async (t) => {
  const { connect, pi, daemon } = scene(t);
  await connect();
  daemon.answers["extension.spawn"] = { session: { id: "s9", name: "docs" } };
  const result = await pi.tool("spawn_session", { cwd: "../docs", name: "docs", task: "Write" });
  assert.equal(textOf(result), "Started session docs (s9).");
  assert.deepEqual((await daemon.next("extension.spawn")).params, { directory: "/work/docs", name: "docs", task: "Write" });
  await pi.tool("spawn_session", {});
  assert.deepEqual((await daemon.next("extension.spawn")).params, { directory: "/work/api" });
});

test("a tool says that the daemon is gone, and does not wait for it", async (t) => {
  const one = scene(t);
  await one.connect();
  await one.loseDaemon();
  await assert.rejects(one.pi.tool("relay_send", { text: "hi" }), { message: "pi-relay cannot do this now: the daemon closed the connection." });
});

test("a daemon that does not answer ends a tool after its time", async (t) => {
  const { connect, pi, daemon, clock } = scene(t);
  await connect();
  const sent = pi.tool("relay_send", { text: "hi" });
  await daemon.next("extension.send");
  clock.advance(30_000);
  await assert.rejects(sent, /did not answer in time/);
});

test("a session may take longer to begin, as a thread is opened for it", async (t) => {
  const { connect, pi, daemon, clock } = scene(t);
  await connect();
  let isOver = false;
  const begun = pi.tool("spawn_session", {});
  begun.catch(() => { isOver = true; });
  await daemon.next("extension.spawn");
  clock.advance(89_999);
  await new Promise((resolve) => { setImmediate(resolve); });
  assert.equal(isOver, false);
  clock.advance(1);
  await assert.rejects(begun, /did not answer in time/);
});

test("a text that is too long for a line is an error of the tool", async (t) => {
  const { connect, pi } = scene(t);
  await connect();
  await assert.rejects(pi.tool("relay_send", { text: "x".repeat(1 << 20) }), /longer than 1 MiB/);
});
