import { maximumLine } from "./line-socket.js";
import { shownModel } from "./session-facts.js";
import { textOf } from "./message-origins.js";
import { worksInChat } from "./slash-text.js";

/** Room for the data of an answer, in bytes. */
const maximumData = maximumLine - 4_096;
const thinkingLevels = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];
/** Commands that may be unanswered; the next one is refused. */
const maximumUnanswered = 64;

/**
 * Carries out pi's RPC commands inside an interactive pi and answers as `pi --mode rpc` does.
 */
export class PiCommands {
  #unanswered = 0;
  /** @type {Promise<unknown>} */
  #lastRead = Promise.resolve();
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

  /**
   * @param {any} command
   * @param {import("./pi-stream.js").Respond} respond is called once
   */
  carryOut(command, respond) {
    const head = { id: command?.id, type: "response", command: command?.type };
    if (this.#unanswered >= maximumUnanswered) {
      return respond({ ...head, success: false, error: "too many commands are unanswered; send it again later" });
    }
    this.#unanswered += 1;
    let isAnswered = false;
    const answer = (/** @type {object} */ outcome) => {
      if (isAnswered) return;
      isAnswered = true;
      this.#unanswered -= 1;
      respond({ ...head, ...outcome });
    };
    const succeed = (/** @type {unknown} */ data) => answer({ success: true, data });
    this.#run(command, succeed).then(succeed, (error) => answer({ success: false, error: error instanceof Error ? error.message : String(error) }));
  }

  /**
   * @param {any} command
   * @param {(data: unknown) => void} succeed answers at once; what is returned is the answer otherwise
   * @returns {Promise<any>}
   */
  async #run(command, succeed) {
    const ctx = this.#session.context();
    switch (command?.type) {
      case "prompt": return this.#prompt(command, ctx, succeed);
      case "steer": return this.#queue(command, "steer", succeed);
      case "follow_up": return this.#queue(command, "followUp", succeed);
      case "abort": return void ctx.abort();
      case "get_state": return this.#state(ctx);
      case "get_messages": return this.#messages(ctx);
      case "get_entries": return this.#entries(command, ctx);
      case "get_last_assistant_text": return { text: lastAssistantText(ctx) };
      case "get_session_stats": return this.#statistics(ctx);
      case "get_commands": return { commands: this.#pi.getCommands().filter((one) => worksInChat(one.name)) };
      case "get_available_models": return { models: (await ctx.modelRegistry.getAvailable()).map((model) => shownModel(model)) };
      case "set_model": return this.#setModel(command, ctx);
      case "set_thinking_level": return this.#setThinkingLevel(String(command.level ?? ""));
      case "set_session_name": return this.#setName(String(command.name ?? ""));
      case "compact": return this.#compact(command.customInstructions, ctx);
      case "shutdown": return void ctx.shutdown();
      default: throw new Error(`Unknown command: ${command?.type}`);
    }
  }

  /** @param {any} command @param {PiContext} ctx @param {(data: unknown) => void} succeed */
  async #prompt(command, ctx, succeed) {
    const behavior = command.streamingBehavior === "steer" ? "steer" : "followUp";
    const meaning = await this.#meaning(command);
    switch (meaning.kind) {
      case "text":
        return this.#deliver(meaning, command, behavior, succeed);
      case "own":
        await this.#runOwn(meaning.name, meaning.line);
        break;
      case "extension":
        await this.#extensionCommands.run(`/${meaning.name}${meaning.line === "" ? "" : ` ${meaning.line}`}`, behavior);
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
   * Reads the files that messages need, one message after another, so that none overtakes another.
   * @param {any} command
   */
  #meaning(command) {
    const meaning = this.#lastRead.then(() => this.#slash.read(String(command.message ?? "")));
    this.#lastRead = meaning.catch(() => {});
    return meaning;
  }

  /** @param {any} command @param {"steer" | "followUp"} behavior @param {(data: unknown) => void} succeed */
  async #queue(command, behavior, succeed) {
    const meaning = await this.#meaning(command);
    if (meaning.kind !== "text") throw new Error(`/${meaning.name} is a command: send it as a prompt`);
    return this.#deliver(meaning, command, behavior, succeed);
  }

  /**
   * @param {{ text: string, accepted?: () => void }} message
   * @param {any} command
   * @param {"steer" | "followUp"} behavior
   * @param {(data: unknown) => void} succeed
   */
  #deliver(message, command, behavior, succeed) {
    const images = Array.isArray(command.images) ? command.images : [];
    return this.#delivery.deliver(message.text, images, behavior, (disposition) => {
      message.accepted?.();
      succeed({ disposition });
    });
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
    const blocks = messages.flatMap((one) => (one?.role === "assistant" && Array.isArray(one.content) ? one.content : []));
    const usages = messages.map((one) => one?.usage).filter(Boolean);
    const sum = (/** @type {string} */ field) => usages.reduce((total, one) => total + (Number(one[field]) || 0), 0);
    return {
      sessionFile: ctx.sessionManager.getSessionFile(),
      sessionId: ctx.sessionManager.getSessionId(),
      userMessages: count("user"),
      assistantMessages: count("assistant"),
      toolCalls: blocks.filter((block) => block?.type === "toolCall").length,
      toolResults: count("toolResult"),
      totalMessages: messages.length,
      tokens: {
        input: sum("input"),
        output: sum("output"),
        cacheRead: sum("cacheRead"),
        cacheWrite: sum("cacheWrite"),
        total: sum("totalTokens"),
      },
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

  /** @param {string} level */
  #setThinkingLevel(level) {
    // pi takes any word, and uses the lowest level for one that it does not know.
    if (!thinkingLevels.includes(level)) throw new Error(`there is no thinking level "${level}"; there are: ${thinkingLevels.join(", ")}`);
    this.#pi.setThinkingLevel(level);
  }

  /** @param {string} name */
  #setName(name) {
    const trimmed = name.trim();
    if (trimmed === "") throw new Error("Session name cannot be empty");
    this.#pi.setSessionName(trimmed);
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
