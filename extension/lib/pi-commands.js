import { loadImages } from "./images.js";
import { maximumLine } from "./rpc-connection.js";
import { shownModel } from "./session-facts.js";
import { textOf } from "./message-origins.js";
import { worksInChat } from "./slash-text.js";

/** Room for the data of an answer, in bytes. */
const maximumData = maximumLine - 4_096;

/**
 * Carries out pi's RPC commands inside an interactive pi and answers as `pi --mode rpc` does.
 */
export class PiCommands {
  /** @type {Promise<unknown>} */
  #lastPrepared = Promise.resolve();
  #pi;
  #session;
  #delivery;
  #slash;
  #extensionCommands;
  #runOwn;

  /**
   * @param {PiAPI} pi
   * @param {import("./attached-session.js").AttachedSession} session
   * @param {import("./prompt-delivery.js").PromptDelivery} delivery
   * @param {import("./slash-text.js").SlashText} slash
   * @param {import("./extension-commands.js").ExtensionCommands} extensionCommands
   * @param {(name: string, line: string) => Promise<void>} runOwn runs a command of this extension for a chat
   */
  constructor(pi, session, delivery, slash, extensionCommands, runOwn) {
    this.#pi = pi;
    this.#session = session;
    this.#delivery = delivery;
    this.#slash = slash;
    this.#extensionCommands = extensionCommands;
    this.#runOwn = runOwn;
  }

  /** @param {any} command @returns {Promise<object>} pi's response */
  async carryOut(command) {
    const type = String(command?.type ?? "");
    const head = { ...(command?.id === undefined ? {} : { id: command.id }), type: "response", command: type };
    try {
      const data = await this.#run(type, command);
      return { ...head, success: true, ...(data === undefined ? {} : { data }) };
    } catch (error) {
      return { ...head, success: false, error: error instanceof Error ? error.message : String(error) };
    }
  }

  /** @param {string} type @param {any} command @returns {Promise<any>} */
  async #run(type, command) {
    const ctx = this.#session.context();
    switch (type) {
      case "prompt": return this.#prompt(command, ctx);
      case "steer": return this.#queue(command, "steer");
      case "follow_up": return this.#queue(command, "followUp");
      case "abort": return void ctx.abort();
      case "get_state": return this.#state(ctx);
      case "get_messages": return this.#messages(ctx);
      case "get_entries": return this.#entries(command, ctx);
      case "get_last_assistant_text": return { text: lastAssistantText(ctx) };
      case "get_session_stats": return this.#statistics(ctx);
      case "get_commands": return { commands: this.#pi.getCommands().filter((one) => worksInChat(one.name)) };
      case "get_available_models": return { models: (await ctx.modelRegistry.getAvailable()).map((model) => shownModel(model)) };
      case "set_model": return this.#setModel(command, ctx);
      case "set_thinking_level": return this.#pi.setThinkingLevel(String(command.level ?? ""));
      case "set_session_name": return this.#setName(String(command.name ?? ""));
      case "compact": return this.#compact(command.customInstructions, ctx);
      default: throw new Error(`Unknown command: ${type}`);
    }
  }

  /** @param {any} command @param {PiContext} ctx */
  async #prompt(command, ctx) {
    const behavior = command.streamingBehavior;
    if (!ctx.isIdle() && behavior !== "steer" && behavior !== "followUp") {
      throw new Error("Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.");
    }
    const { images, meaning } = await this.#prepare(command);
    switch (meaning.kind) {
      case "text":
        return this.#deliver(meaning, images, behavior ?? "followUp", command.id);
      case "own":
        await this.#runOwn(meaning.name, meaning.line);
        break;
      case "extension":
        await this.#extensionCommands.run(`/${meaning.name}${meaning.line === "" ? "" : ` ${meaning.line}`}`, behavior ?? "followUp");
        break;
      case "compact":
        await this.#compact(meaning.line || undefined, ctx);
        break;
      case "name":
        this.#setName(meaning.line);
    }
    return { disposition: "handled" };
  }

  /**
   * Reads the files that a message needs, one message after another, so that none overtakes another.
   * @param {any} command
   */
  #prepare(command) {
    const prepared = this.#lastPrepared.then(async () => ({
      images: await loadImages(command.images),
      meaning: await this.#slash.read(String(command.message ?? "")),
    }));
    this.#lastPrepared = prepared.catch(() => {});
    return prepared;
  }

  /** @param {any} command @param {"steer" | "followUp"} behavior */
  async #queue(command, behavior) {
    const { images, meaning } = await this.#prepare(command);
    if (meaning.kind !== "text") throw new Error(`/${meaning.name} is a command: send it as a prompt`);
    return this.#deliver(meaning, images, behavior, command.id);
  }

  /**
   * @param {{ text: string, accepted?: () => void }} message
   * @param {ImageContent[]} images
   * @param {"steer" | "followUp"} behavior
   * @param {number | string | undefined} id
   */
  async #deliver(message, images, behavior, id) {
    const disposition = await this.#delivery.deliver(message.text, images, behavior, id);
    message.accepted?.();
    return { disposition };
  }

  /** @param {PiContext} ctx */
  #state(ctx) {
    return {
      model: shownModel(ctx.model),
      thinkingLevel: this.#pi.getThinkingLevel(),
      isStreaming: !ctx.isIdle(),
      isCompacting: this.#session.isCompacting,
      sessionFile: ctx.sessionManager.getSessionFile(),
      sessionId: ctx.sessionManager.getSessionId(),
      sessionName: this.#pi.getSessionName(),
      messageCount: ctx.sessionManager.getBranch().filter((one) => one.type === "message").length,
      pendingMessageCount: ctx.hasPendingMessages() ? 1 : 0,
    };
  }

  /** @param {PiContext} ctx */
  #messages(ctx) {
    const all = ctx.sessionManager.getBranch().flatMap((one) => (one.type === "message" ? [one.message] : []));
    const { items, isTruncated } = fitting(all);
    return { messages: items, ...(isTruncated ? { truncated: true } : {}) };
  }

  /** @param {any} command @param {PiContext} ctx */
  #entries(command, ctx) {
    const all = ctx.sessionManager.getEntries();
    const since = command.since === undefined ? -1 : all.findIndex((one) => one.id === command.since);
    if (command.since !== undefined && since < 0) throw new Error(`Entry not found: ${command.since}`);
    const { items, isTruncated } = fitting(all.slice(since + 1));
    return { entries: items, leafId: ctx.sessionManager.getLeafId(), ...(isTruncated ? { truncated: true } : {}) };
  }

  /** @param {PiContext} ctx */
  #statistics(ctx) {
    const messages = ctx.sessionManager.getEntries().flatMap((one) => (one.type === "message" ? [one.message] : []));
    const count = (/** @type {string} */ role) => messages.filter((one) => one?.role === role).length;
    const usages = messages.map((one) => one?.usage).filter(Boolean);
    const sum = (/** @type {string} */ field) => usages.reduce((total, one) => total + (Number(one[field]) || 0), 0);
    return {
      sessionFile: ctx.sessionManager.getSessionFile(),
      sessionId: ctx.sessionManager.getSessionId(),
      userMessages: count("user"),
      assistantMessages: count("assistant"),
      toolResults: count("toolResult"),
      totalMessages: messages.length,
      tokens: { input: sum("input"), output: sum("output"), cacheRead: sum("cacheRead"), cacheWrite: sum("cacheWrite"), total: sum("totalTokens") },
      cost: usages.reduce((total, one) => total + (Number(one.cost?.total) || 0), 0),
      contextUsage: ctx.getContextUsage?.(),
    };
  }

  /** @param {any} command @param {PiContext} ctx */
  async #setModel(command, ctx) {
    const wanted = `${command.provider}/${command.modelId}`;
    const model = ctx.modelRegistry.find(String(command.provider), String(command.modelId));
    if (!model) throw new Error(`Model not found: ${wanted}`);
    if (!(await this.#pi.setModel(model))) throw new Error(`There is no key for ${wanted}`);
    return shownModel(model);
  }

  /** @param {string} name */
  #setName(name) {
    const trimmed = name.trim();
    if (trimmed === "") throw new Error("Session name cannot be empty");
    this.#pi.setSessionName(trimmed);
    this.#session.reportChanges();
  }

  /** @param {string | undefined} customInstructions @param {PiContext} ctx */
  #compact(customInstructions, ctx) {
    return new Promise((resolve, reject) =>
      ctx.compact({
        customInstructions,
        onComplete: (result) => resolve(result),
        onError: (error) => {
          this.#session.compactionFailed(error.message);
          reject(error);
        },
      }),
    );
  }
}

/**
 * The newest items that fit into one line.
 * @template T
 * @param {T[]} items
 */
function fitting(items) {
  let bytes = 0;
  let first = items.length;
  while (first > 0) {
    bytes += Buffer.byteLength(JSON.stringify(items[first - 1]) ?? "null") + 1;
    if (bytes > maximumData) break;
    first -= 1;
  }
  return { items: items.slice(first), isTruncated: first > 0 };
}

/** @param {PiContext} ctx */
function lastAssistantText(ctx) {
  const entries = ctx.sessionManager.getBranch();
  for (let index = entries.length - 1; index >= 0; index -= 1) {
    if (entries[index]?.message?.role === "assistant") return textOf(entries[index]?.message);
  }
  return undefined;
}
