import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageOrigins } from "../../extension/lib/message-origins.js";

test("what was typed during a compaction does not stand for the message of a chat that waits", () => {
  const origins = new MessageOrigins();
  origins.expect({ source: "relay", text: "of the chat", behavior: "followUp" });
  origins.compacted();
  // pi shows it to no handler.
  assert.deepEqual(origins.taken("typed meanwhile"), { source: "interactive", isCertain: false });
  assert.deepEqual(origins.taken("of the chat"), { source: "relay", isCertain: true });
});

test("once pi has settled, a text that pi has expanded is the chat's again", () => {
  const origins = new MessageOrigins();
  origins.compacted();
  origins.settled();
  origins.expect({ source: "relay", text: "/template" });
  assert.deepEqual(origins.taken("the words of the template"), { source: "relay", isCertain: true });
});
