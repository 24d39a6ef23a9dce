// A stand-in of pi with the extension in it, for tests of the whole daemon: answers each message that it is sent, and does what
// the lines of its input say. Each line of its output is one JSON object.
import { exec } from "node:child_process";
import { createInterface } from "node:readline";
import { activate } from "../../../extension/index.js";
import { systemClock } from "../../../extension/lib/clock.js";
import { FakePi } from "./fake-pi.js";

const pi = new FakePi({ cwd: process.env.PLAYED_DIRECTORY, session: process.env.PLAYED_SESSION });
activate(pi, { env: process.env, clock: systemClock, random: Math.random, isTerminal: true });

const say = (/** @type {object} */ one) => process.stdout.write(`${JSON.stringify(one)}\n`);
let answered = 0;
/** A run whose message begins with `hold` goes on after its call when a line says so. */
let mayGoOn = false;
/** Ends the answer that waits. */
let release = () => {};

let notified = 0;
pi.until(() => {
  for (const notice of pi.notices.slice(notified)) say({ notice: notice.text });
  notified = pi.notices.length;
  return false;
});

let kept = 0;
pi.until(() => {
  for (const { customType, data } of pi.entries.slice(kept)) say({ entry: customType, data });
  kept = pi.entries.length;
  return false;
});

// The footer says what the extension knows of the daemon.
let status;
setInterval(() => {}, 60_000);
pi.until(() => {
  if (pi.status !== status) say({ status: (status = pi.status) });
  return false;
});

/** Messages of chats begin runs by themselves; the answer ends them. */
pi.until(() => {
  if (pi.sent.length === answered) return false;
  const { content } = pi.sent[answered++];
  const text = typeof content === "string" ? content : content.map((one) => one.text ?? "").join("");
  void work(text);
  return false;
});

/** @param {string} text */
async function work(text) {
  // After pi's own events about the message.
  while (pi.isIdle) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  say({ message: text });
  if (text.startsWith("answer ")) {
    await pi.beginAnswer(`Begun: ${text.slice(7)}.\n`);
    await new Promise((resolve) => {
      release = () => resolve(undefined);
      pi.signal.signal.addEventListener("abort", release, { once: true });
    });
    await pi.answerWith(`Begun: ${text.slice(7)}.\nEnded.`);
  } else if (/^(call|hold) /.test(text)) {
    const verdict = await pi.callTool("bash", { command: text.slice(5) });
    say({ verdict: verdict ?? "allowed" });
    if (text.startsWith("hold ")) await pi.until(() => mayGoOn);
    await pi.answerWith(verdict ? `blocked: ${verdict.reason}` : "done");
  } else if (text.startsWith("send ")) {
    const result = await pi.tool("relay_send", { text: text.slice(5) }).catch((error) => ({ error: String(error.message) }));
    say({ sent: result });
    await pi.answerWith("sent");
  } else if (/\bspawn \w+$/.test(text)) {
    // In a channel the words begin with their author.
    const name = text.split(" ").at(-1);
    const { content } = await pi.tool("spawn_session", { name, task: `hello ${name}` });
    await pi.answerWith(`The model heard: ${content[0].text}`);
  } else if (text.startsWith("ask ")) {
    const { content } = await pi.tool("ask_user", { question: text.slice(4), options: [{ label: "red" }, { label: "blue" }] });
    await pi.answerWith(`The model heard: ${content[0].text}`);
  } else {
    await pi.answerWith(`You wrote: ${text}`);
  }
  await pi.endRun();
  pi.happened();
}

/** @returns {Promise<never>} */
async function quit() {
  await pi.emit("session_shutdown", { reason: "quit" });
  process.exit(0);
}

// pi ends once it is idle.
void pi.until(() => pi.shutdowns > 0 && pi.isIdle).then(quit);

for await (const line of createInterface({ input: process.stdin })) {
  const [verb, ...words] = line.split(" ");
  const text = words.join(" ");
  if (verb === "start") await pi.emit("session_start", { reason: text || "startup" });
  if (verb === "type") {
    await pi.type(text);
    if (text.startsWith("call ")) say({ verdict: (await pi.callTool("bash", { command: text.slice(5) })) ?? "allowed" });
    await pi.answerWith(`In the terminal: ${text}`);
    await pi.endRun();
  }
  if (verb === "shell") exec(text, (_error, output, errors) => say({ shell: output + errors }));
  if (verb === "send") say({ sent: await pi.tool("relay_send", { text }).catch((error) => ({ error: String(error.message) })) });
  if (verb === "abort") pi.ctx.abort();
  if (verb === "go") {
    mayGoOn = true;
    pi.happened();
  }
  if (verb === "choose") (await pi.until(() => pi.dialogs[0])).answer(text);
  if (verb === "relay") await pi.runCommand("relay", text);
  if (verb === "release") release();
  if (verb === "quit") break;
}
await quit();
