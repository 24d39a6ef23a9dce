import { resolve } from "node:path";
import { homedir } from "node:os";
import { askEverywhere, askIn, questionOf } from "./ask-user.js";
import { AttachedSession } from "./attached-session.js";
import { DaemonError, NoAnswer } from "./rpc-connection.js";

/** The time for a file to be sent, in milliseconds. */
const uploadLimit = 180_000;
/** Opening a thread may take a messenger half a minute. */
const spawnLimit = 90_000;

const text = (/** @type {string} */ description) => ({ type: "string", description });
const object = (/** @type {object} */ properties, /** @type {string[]} */ required) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

/**
 * Gives the model the tools that reach people.
 * @param {PiAPI} pi
 * @param {import("./daemon-session.js").DaemonSession} session
 */
export function registerTools(pi, session) {
  /**
   * @param {string} method
   * @param {object} parameters
   * @param {AbortSignal | undefined} signal
   * @param {number} [milliseconds]
   */
  const ask = async (method, parameters, signal, milliseconds) => {
    try {
      return await session.link.request(method, parameters, { signal, milliseconds });
    } catch (error) {
      if (error instanceof DaemonError) throw error;
      if (error instanceof NoAnswer) throw new Error(`pi-relay cannot do this now: ${error.message}.`);
      throw error;
    }
  };

  const send = {
    label: "Send to chat",
    description:
      "Send a text to the person who asked for this turn, in the chat where they asked. " +
      "Use it for something they should see before the turn ends. The final answer is sent by itself.",
    parameters: object({ text: text("The text, as Markdown") }, ["text"]),
    /** @type {PiTool["execute"]} */
    async execute(_, parameters, signal) {
      if (String(parameters.text ?? "").trim() === "") throw new Error("text: it is empty");
      await ask("extension.send", { text: String(parameters.text) }, signal);
      return result("Sent.");
    },
  };
  pi.registerTool({ name: "relay_send", promptSnippet: "Send a text to the person in chat before the turn ends", ...send });
  pi.registerTool({ name: "discord_send", ...send, description: `Another name of relay_send. ${send.description}` });

  pi.registerTool({
    name: "relay_send_file",
    label: "Send a file to chat",
    description:
      "Send a file of the workspace to the person who asked for this turn. The path is relative to the working directory; " +
      "hidden files, links that lead out of it and large files are refused.",
    promptSnippet: "Send a file of the workspace to the person in chat",
    parameters: object(
      { path: text("Path relative to the working directory"), caption: text("A text that is shown with the file") },
      ["path"],
    ),
    async execute(_, parameters, signal) {
      const path = String(parameters.path ?? "").replace(/^@/, "");
      const caption = parameters.caption === undefined ? undefined : String(parameters.caption);
      const { name } = (await ask("extension.sendFile", { path, caption }, signal, uploadLimit)) ?? {};
      return result(`Sent ${name ?? path}.`);
    },
  });

  pi.registerTool({
    name: "ask_user",
    label: "Ask the person",
    // The terminal shows one dialog at a time.
    executionMode: /** @type {const} */ ("sequential"),
    description:
      "Ask the person a question and wait for the answer. Give options where there are sensible ones; " +
      "allowText lets them answer in their own words. Without options they type an answer.",
    promptSnippet: "Ask the person a question and wait for the answer",
    parameters: object(
      {
        question: text("The question"),
        options: {
          type: "array",
          description: "The answers to choose from",
          items: object({ label: text("The answer"), description: text("A few words about it") }, ["label"]),
        },
        allowText: { type: "boolean", description: "Allow an answer in other words than the options" },
      },
      ["question"],
    ),
    async execute(_, parameters, signal, __, ctx) {
      const question = questionOf(parameters);
      const isAttached = session instanceof AttachedSession;
      const outcome = await (isAttached ? askEverywhere(session, ctx, question, signal) : askIn(ctx.ui, question, signal));
      if ("cancelled" in outcome) return result(`There is no answer: ${outcome.cancelled}.`, { cancelled: outcome.cancelled });
      return result(outcome.answer, { answer: outcome.answer });
    },
  });

  pi.registerTool({
    name: "spawn_session",
    label: "Start a session",
    description:
      "Start another pi session that works on its own and reports to the person in chat. " +
      "Only folders that the person has allowed can be used.",
    promptSnippet: "Start another pi session that works on its own",
    parameters: object(
      {
        cwd: text("The working directory of the session; this session's if left out"),
        name: text("A short name of the session"),
        task: text("The first message to it, with all that it has to know"),
      },
      [],
    ),
    async execute(_, parameters, signal, __, ctx) {
      const cwd = String(parameters.cwd ?? "").replace(/^~(?=\/|$)/, homedir());
      const { name, task } = parameters;
      const order = { directory: resolve(ctx.cwd, cwd), name, task };
      const { session: started } = (await ask("extension.spawn", order, signal, spawnLimit)) ?? {};
      return result(`Started session ${started?.name ?? ""} (${started?.id ?? "no id"}).`, { session: started });
    },
  });
}

/** @param {string} text @param {object} [details] */
function result(text, details = {}) {
  return { content: [{ type: /** @type {const} */ ("text"), text }], details };
}
