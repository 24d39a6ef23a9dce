import { homedir } from "node:os";
import { version } from "./daemon-session.js";
import { completions } from "./command-list.js";
import { socketObstacle } from "./socket-path.js";

/** The time for a command of `pi-relayd`, in milliseconds. */
const programLimit = 60_000;
const remedy = "; start it with: pi-relayd start --detach";
/** The time for an answer that a command can do without, in milliseconds. */
const shortLimit = 5_000;

/** The commands `/relay`, `/pidash`, `/bridge:status` and `/bridge:ping`, for the person at pi's terminal. */
export class PersonCommands {
  #pi;
  #session;
  #pairings;

  /**
   * @param {PiAPI} pi
   * @param {import("./attached-session.js").AttachedSession} session
   * @param {import("./pairings.js").Pairings} pairings
   */
  constructor(pi, session, pairings) {
    this.#pi = pi;
    this.#session = session;
    this.#pairings = pairings;
    this.#register("relay", "pi-relay: status, connect, sessions, approvals and more", (line) => this.#relay(line));
    this.#register("pidash", "Start, stop or restart pi-relayd", (line) => this.#pidash(line));
    this.#register("bridge:status", "Show how this session is connected to pi-relayd", async () => this.#localStatus());
    this.#register("bridge:ping", "Send bridge_pong to the programs that follow this session", async (line) => this.#ping(line));
  }

  /**
   * Runs a command for a chat. A chat may look and ping; the others are for the person at the terminal.
   * @param {string} name
   * @param {string} line
   */
  async runForChat(name, line) {
    const base = name.replace(/:\d+$/, "");
    if (base === "bridge:ping") return void this.#ping(line);
    if (base === "bridge:status") return void this.#show(this.#localStatus(), "info");
    throw new Error(`/${name} works only in pi's own terminal`);
  }

  /** @param {string} name @param {string} description @param {(line: string) => Promise<string>} run */
  #register(name, description, run) {
    this.#pi.registerCommand(name, {
      description,
      getArgumentCompletions: (prefix) => completions(name, prefix),
      handler: async (line, ctx) => {
        this.#session.enter(ctx);
        try {
          this.#show(await run(line.trim()), "info");
        } catch (error) {
          this.#show(`pi-relay: ${error instanceof Error ? error.message : String(error)}`, "error");
        }
      },
    });
  }

  /** @param {string} text @param {"info" | "error"} kind */
  #show(text, kind) {
    this.#session.withInterface((ui) => ui.notify(text, kind));
  }

  /** @param {string} line */
  async #relay(line) {
    const [verb = "status", ...rest] = line.split(/\s+/).filter(Boolean);
    switch (verb) {
      case "status": return `${this.#localStatus()}${await this.#ifConnected("relay.status")}`;
      case "connect": return rest[0] ? this.#pairings.begin(rest[0], rest.slice(1).join(" ")) : this.#reconnect();
      case "reconnect": return this.#reconnect();
      case "trusted": return this.#pairings.list();
      case "untrust": return this.#pairings.untrust(rest[0], rest[1]);
      case "disconnect": return this.#disconnect();
      case "doctor": return `${this.#findings()}${await this.#ifConnected("relay.doctor")}`;
      case "approvals": return this.#ask("relay.approvals", {});
      case "sessions": return this.#ask("relay.sessions", { page: Number.parseInt(rest[0] ?? "", 10) || undefined });
      case "send-file": return this.#sendFile(line.slice(verb.length).trim());
      case "restart": return this.#restart();
      case "settings": return this.#session.settings.text;
      default: throw new Error(`there is no /relay ${verb}; there are: ${completions("relay", "")?.map((one) => one.value).join(", ")}`);
    }
  }

  /** @param {string} line */
  async #pidash(line) {
    switch (line || "status") {
      case "status": return `${this.#localStatus()}${await this.#ifConnected("relay.status")}`;
      case "start": return this.#program(["start", "--detach"]);
      case "stop": return this.#program(["stop"]);
      case "restart": return this.#restart();
      default: throw new Error(`there is no /pidash ${line}; there are: start, stop, restart, status`);
    }
  }

  #localStatus() {
    const { link, about, approvals } = this.#session;
    const lines = link.isConnected
      ? [
          `connected to ${about?.machine} as ${about?.session.name} (${about?.session.id})`,
          `approvals: ${approvals?.enabled ? "on" : "off"}`,
        ]
      : [link.state === "stopped" ? "disconnected" : `not connected: ${link.reason}`];
    return ["pi-relay:", ...lines, ...this.#pairings.lines, `socket: ${link.path}`].join("\n");
  }

  /**
   * @param {string} method
   * @returns {Promise<string>} the daemon's text with a line end before it, or nothing without a connection
   */
  async #ifConnected(method) {
    return this.#session.link.isConnected ? `\n${await this.#ask(method, {}, shortLimit)}` : "";
  }

  /** @param {string} method @param {object} parameters @param {number} [milliseconds] */
  async #ask(method, parameters, milliseconds) {
    const reply = await this.#session.link.request(method, parameters, { milliseconds });
    return String(reply?.text ?? "Done.");
  }

  async #disconnect() {
    const isTold = this.#session.link.isConnected;
    const said = await this.#ifConnected("relay.disconnect").then(
      (text) => {
        if (isTold) this.#pairings.forget();
        return text;
      },
      (error) => `\n${error.message}`,
    );
    const farewell = { method: "session.detach", params: { reason: "disconnect" } };
    this.#session.link.stop("disconnected with /relay disconnect", farewell);
    return `This session is disconnected until /relay connect.${said}`;
  }

  async #reconnect() {
    const { link } = this.#session;
    link.start();
    await link.whenConnected({ milliseconds: 5_000 });
    return this.#localStatus();
  }

  /** @param {string} line the path, in quotes where it has spaces, and the caption */
  #sendFile(line) {
    const found = /^(?:"([^"]+)"|'([^']+)'|(\S+))\s*([\s\S]*)$/.exec(line);
    if (!found) throw new Error("write: /relay send-file PATH [CAPTION]");
    return this.#ask("relay.sendFile", { path: found[1] ?? found[2] ?? found[3], caption: found[4] || undefined }, 180_000);
  }

  /** @param {string} line */
  #ping(line) {
    const text = line || "pong";
    this.#session.report({ type: "bridge_pong", text });
    return `bridge_pong: ${text}${this.#session.stream ? "" : " (not sent: there is no connection)"}`;
  }

  #findings() {
    const { path, state } = this.#session.link;
    const obstacle = state === "connected" ? undefined : socketObstacle(path);
    const findings = [
      `pi-relay extension ${version}, Node ${process.version}`,
      obstacle ? `✖ ${obstacle.text}${obstacle.missing ? remedy : ""}` : `✔ there is a socket: ${path}`,
      ...this.#session.settings.problems.map((one) => `✖ ${one}`),
    ];
    return findings.join("\n");
  }

  async #restart() {
    // A daemon that does not run cannot be stopped, and is started all the same.
    await this.#program(["stop"]).catch(() => "");
    return this.#program(["start", "--detach"]);
  }

  /** @param {string[]} words of the command line */
  async #program(words) {
    const { code, killed, stdout, stderr } = await this.#pi.exec("pi-relayd", words, { timeout: programLimit });
    const said = [stdout, stderr].join("\n").trim().replaceAll(homedir(), "~");
    if (killed) throw new Error(`pi-relayd ${words.join(" ")} did not end within ${programLimit / 1000} s; look with: pi-relayd status`);
    if (code !== 0) throw new Error(said || `pi-relayd ${words.join(" ")} failed; is pi-relayd in PATH?`);
    return said || "Done.";
  }
}
