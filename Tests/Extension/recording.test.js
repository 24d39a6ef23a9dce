import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { scene } from "./support/scene.js";

const file = new URL("./recordings/attached.jsonl", import.meta.url);
const about = { api: "fake", provider: "fake", model: "fake-1", timestamp: 1_795_329_858_500 };
const usage = { input: 1_437, output: 14, cacheRead: 0, cacheWrite: 0, totalTokens: 1_451, cost: { input: 0.001437, output: 0.000028, total: 0.001465 } };

/** Reports a message as pi reports it to extensions, a piece for each delta. */
async function stream(pi, block, pieces, stopReason) {
  const message = { role: "assistant", content: [block], ...about, usage, stopReason };
  const update = (type, more) =>
    pi.emit("message_update", { message, assistantMessageEvent: { type, contentIndex: 0, ...more, partial: message } });
  const kind = block.type === "text" ? "text" : "toolcall";
  await pi.emit("message_start", { message: { ...message, content: [] } });
  await update(`${kind}_start`);
  for (const delta of pieces) await update(`${kind}_delta`, { delta });
  await update(`${kind}_end`, block.type === "text" ? { content: block.text } : { toolCall: block });
  await pi.emit("message_end", { message });
  return message;
}

async function answer(pi, pieces, turnIndex) {
  const message = await stream(pi, { type: "text", text: pieces.join("") }, pieces, "stop");
  await pi.emit("turn_end", { turnIndex, message, toolResults: [] });
}

async function useTool(pi) {
  const call = { type: "toolCall", id: "call_1", name: "bash", arguments: { command: "git log --oneline" } };
  const message = await stream(pi, call, ['{"command":', '"git log --oneline"}'], "toolUse");
  const about = { toolCallId: call.id, toolName: call.name };
  const content = [{ type: "text", text: "1aabb90 Keep the order\n" }];
  await pi.emit("tool_execution_start", { ...about, args: call.arguments });
  await pi.callTool(call.name, call.arguments, call.id);
  await pi.emit("tool_execution_update", { ...about, args: call.arguments, partialResult: { content } });
  await pi.emit("tool_execution_end", { ...about, result: { content }, isError: false });
  const result = { role: "toolResult", ...about, content, isError: false, timestamp: 1_795_329_858_600 };
  for (const type of ["message_start", "message_end"]) await pi.emit(type, { message: result });
  await pi.emit("turn_end", { turnIndex: 0, message, toolResults: [result] });
  await pi.emit("turn_start", { turnIndex: 1 });
}

/** A session in which a prompt is typed and one comes from a chat. UPDATE_RECORDING=1 writes the recording anew. */
test("the stream of a session with a turn of each side is as recorded", async (t) => {
  const { connect, pi, daemon } = scene(t);
  daemon.answers["extension.approve"] = { decision: "allow" };
  await connect();
  await daemon.command({ id: "relay-1", type: "get_state" });
  // Typed in the terminal.
  await pi.type("Which commit is the last?");
  await useTool(pi);
  await answer(pi, ["It is ", "“Keep the order” – 😀\n", 'of "main".'], 1);
  await pi.endRun();
  await daemon.event("agent_settled");
  // Sent by a chat, which steers the run and then queues another prompt.
  await daemon.command({ id: "relay-2", type: "prompt", message: "Revert it, please.", images: [{ type: "image", data: "R0lGODlh", mimeType: "image/gif" }] });
  await daemon.event("message_end", ({ source }) => source === "relay");
  await daemon.command({ id: "relay-3", type: "steer", message: "On a branch." });
  await useTool(pi);
  await pi.takeMessage("On a branch.");
  await answer(pi, ["I have ", "reverted it."], 1);
  await daemon.until(() => daemon.events.filter((one) => one.type === "turn_end").length === 4);
  await daemon.command({ id: "relay-4", type: "prompt", message: "Thanks!" });
  await pi.emit("turn_start", { turnIndex: 2 });
  await pi.takeMessage("Thanks!");
  await answer(pi, ["You are welcome."], 2);
  await pi.endRun();
  await daemon.event("agent_settled");
  await daemon.command({ id: "relay-5", type: "set_session_name", name: "revert" });
  await daemon.command({ id: "relay-6", type: "set_model", provider: "fake", modelId: "fake-9" });
  await daemon.command({ id: "relay-7", type: "abort" });

  const lines = daemon.streamLines.map((one) => ({ ...one, line: one.line.replace(`"pid":${process.pid}`, '"pid":4711') }));
  const recorded = lines.map((one) => `${JSON.stringify(one)}\n`).join("");
  if (process.env.UPDATE_RECORDING === "1") writeFileSync(file, recorded);
  assert.equal(recorded, readFileSync(file, "utf8"));
});
