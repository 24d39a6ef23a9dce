import { Happenings } from "./happenings.js";

/** The time at which everything happens. */
const timestamp = 1_795_329_858_444;

/**
 * A stand-in of the interface that pi gives its extensions, after pi's public documentation: handlers are awaited one after
 * another, a message that is sent while pi is idle begins a run, and one sent while it runs needs a mode of delivery.
 */
export class FakePi extends Happenings {
  handlers = new Map();
  tools = new Map();
  commands = new Map();
  statuses = [];
  notices = [];
  /** Dialogs that are open: `{ kind, title, options, answer(value) }`. */
  dialogs = [];
  sent = [];
  entries = [];
  isIdle = true;
  /** A run has begun and not ended: pi calls itself idle a little earlier, and sometimes much. */
  isRunning = false;
  hasPending = false;
  name = undefined;
  model = { provider: "fake", id: "fake-1", name: "Fake 1", headers: { authorization: "secret" } };
  level = "off";
  aborts = 0;
  shutdowns = 0;
  compactions = [];
  programs = [];
  programResult = { code: 0, stdout: "", stderr: "" };
  otherCommands = [];
  /** Newer releases run commands of extensions in the text of an extension. */
  runsCommands = true;
  /** What pi's list of keys says, and what it would find. */
  hasKey = true;
  key = { apiKey: "k" };
  /** Errors that pi shows in its terminal, and tells no extension. */
  errors = [];
  /** A message that is sent while pi is idle begins no run. */
  isStuck = false;
  extensionCommandsRun = [];
  #listeners = new Map();

  constructor({ cwd = "/work/api", mode = "tui", hasUI = true, session = "pi-1", file = "/sessions/pi-1.jsonl" } = {}) {
    super();
    this.signal = new AbortController();
    const pi = this;
    this.ctx = {
      cwd,
      mode,
      hasUI,
      ui: {
        notify: (text, kind) => this.#note(this.notices, { text, kind }),
        setStatus: (_, text) => this.#note(this.statuses, text),
        select: (title, options, dialog) => this.#dialog("select", { title, options }, dialog),
        input: (title, placeholder, dialog) => this.#dialog("input", { title, placeholder }, dialog),
      },
      get model() {
        return pi.model;
      },
      get signal() {
        return pi.isRunning ? pi.signal.signal : undefined;
      },
      modelRegistry: {
        getAvailable: () => [this.model, { provider: "fake", id: "fake-2" }],
        hasConfiguredAuth: () => this.hasKey,
        getApiKeyAndHeaders: async () => ({ ok: true, ...this.key }),
        find: (provider, id) => (provider === "fake" && id === "fake-2" ? { provider, id } : undefined),
      },
      sessionManager: {
        getSessionId: () => session,
        getSessionFile: () => file,
        getEntries: () => this.entries,
        getBranch: () => this.entries,
        getLeafId: () => this.entries.at(-1)?.id ?? null,
      },
      isIdle: () => this.isIdle,
      hasPendingMessages: () => this.hasPending,
      abort: () => {
        this.aborts += 1;
        this.signal.abort();
      },
      shutdown: () => {
        this.shutdowns += 1;
        this.happened();
      },
      compact: (options) => this.#note(this.compactions, options),
      getContextUsage: () => ({ tokens: 10, contextWindow: 100, percent: 10 }),
      isProjectTrusted: () => this.isTrusted === true,
    };
    this.events = {
      on: (name, listener) => this.#listeners.set(name, listener),
      emit: (name, data) => this.#listeners.get(name)?.(data),
    };
  }

  get status() {
    return this.statuses.at(-1);
  }

  on(name, handler) {
    this.handlers.set(name, [...(this.handlers.get(name) ?? []), handler]);
  }

  registerTool(tool) {
    this.tools.set(tool.name, tool);
    this.happened();
  }

  registerCommand(name, options) {
    this.commands.set(name, options);
  }

  /** Emits an event as pi does, and returns what the handlers returned. */
  async emit(type, event = {}) {
    const results = [];
    for (const handler of this.handlers.get(type) ?? []) {
      const result = await handler({ type, ...event }, this.ctx);
      if (result !== undefined) results.push(result);
    }
    return results;
  }

  /** Calls a tool's gate: undefined where the call may go on. */
  async callTool(toolName, input, toolCallId = "call-1") {
    return (await this.emit("tool_call", { toolName, input, toolCallId }))[0];
  }

  tool(name, parameters, signal) {
    return this.tools.get(name).execute("call-1", parameters, signal, undefined, this.ctx);
  }

  sendUserMessage(content, options = {}) {
    this.#note(this.sent, { content, options });
    const text = typeof content === "string" ? content : content.filter((one) => one.type === "text").map((one) => one.text).join("");
    void this.#accept(text, content, options).catch((error) => this.#note(this.errors, error.message));
  }

  async #accept(text, content, options) {
    if (options.expandPromptTemplates && this.runsCommands && text.startsWith("/")) {
      await undefined;
      return this.#note(this.extensionCommandsRun, text);
    }
    if (!this.isIdle && !options.deliverAs) throw new Error("Agent is already processing.");
    const results = await this.emit("input", { text, source: "extension", streamingBehavior: this.isIdle ? undefined : options.deliverAs });
    if (results.some((one) => one.action === "handled") || this.isStuck) return;
    if (!this.isIdle) {
      this.hasPending = true;
      return;
    }
    if (!this.model) throw new Error("No model selected.");
    if (!this.hasKey && !this.key) throw new Error(`No API key found for ${this.model.provider}.`);
    await this.beginRun(text, content);
  }

  /** A person types a message. */
  async type(text) {
    await this.emit("input", { text, source: "interactive" });
    await this.beginRun(text, text);
  }

  async beginRun(text, content = text) {
    this.isIdle = false;
    this.isRunning = true;
    await this.emit("agent_start");
    await this.emit("turn_start", { turnIndex: 0, timestamp });
    await this.takeMessage(text, content);
  }

  async takeMessage(text, content = text) {
    const message = { role: "user", content: typeof content === "string" ? [{ type: "text", text }] : content, timestamp };
    await this.emit("message_start", { message });
    await this.emit("message_end", { message });
  }

  async answerWith(text, stopReason = "stop") {
    const message = { role: "assistant", content: [{ type: "text", text }], stopReason };
    await this.emit("message_start", { message: { ...message, content: [] } });
    await this.emit("message_update", { message, assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: text, partial: message } });
    await this.emit("message_end", { message });
  }

  /** The beginning of an answer. */
  async beginAnswer(text) {
    const message = { role: "assistant", content: [{ type: "text", text }] };
    await this.emit("message_start", { message: { ...message, content: [] } });
    await this.emit("message_update", { message, assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: text, partial: message } });
  }

  /** pi refuses a prompt that arrived beside a run, and reports the end of all runs. */
  async settleEarly() {
    this.isIdle = true;
    await this.emit("agent_settled");
    this.isIdle = false;
  }

  async endRun() {
    await this.emit("agent_end", { messages: [{ role: "user" }, { role: "assistant" }] });
    this.isIdle = true;
    this.isRunning = false;
    this.hasPending = false;
    this.signal = new AbortController();
    await this.emit("agent_settled");
  }

  appendEntry(customType, data) {
    this.#note(this.entries, { type: "custom", id: `custom-${this.entries.length}`, customType, data: structuredClone(data) });
  }

  getSessionName() {
    return this.name;
  }

  setSessionName(name) {
    this.name = name;
    this.happened();
    void this.emit("session_info_changed", { name });
  }

  getCommands() {
    return [...[...this.commands.keys()].map((name) => ({ name, source: "extension" })), ...this.otherCommands];
  }

  async setModel(model) {
    this.model = model;
    await this.emit("model_select", { model });
    return true;
  }

  getThinkingLevel() {
    return this.level;
  }

  setThinkingLevel(level) {
    this.level = level;
  }

  async exec(command, words) {
    this.#note(this.programs, [command, ...words]);
    return this.programResult;
  }

  /** Types a command of the extension. */
  async runCommand(name, line = "") {
    await this.commands.get(name).handler(line, this.ctx);
    return this.notices.at(-1);
  }

  #note(list, one) {
    list.push(one);
    this.happened();
  }

  #dialog(kind, about, { signal } = {}) {
    return new Promise((resolve) => {
      const dialog = {
        kind,
        ...about,
        answer: (value) => {
          this.dialogs = this.dialogs.filter((one) => one !== dialog);
          resolve(value);
          this.happened();
        },
      };
      if (signal?.aborted) return resolve(undefined);
      signal?.addEventListener("abort", () => dialog.answer(undefined), { once: true });
      this.#note(this.dialogs, dialog);
    });
  }
}
