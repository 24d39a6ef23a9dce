import { existsSync, linkSync, renameSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { Happenings } from "./happenings.js";

/** A stand-in of pi-relayd on a real Unix socket. It greets, keeps what it hears, and answers what a test tells it to. */
export class FakeDaemon extends Happenings {
  /** Every message that came, with the number of its connection. */
  messages = [];
  /** Answers by method: a value, or a function of the parameters that may throw `{ code, message }`. `undefined`: no answer. */
  answers = {};
  approvals = { enabled: true, timeoutSeconds: 120 };
  /** Errors that answer no request. */
  refusals = [];
  connections = 0;
  sockets = [];
  #server;
  #lastId = 0;
  #waiting = new Map();

  constructor(path) {
    super();
    this.path = path;
    const greeting = () => ({ machine: "box", session: { id: "s1", name: "api" }, approvals: this.approvals });
    this.answers = { "session.attach": greeting, "extension.hello": greeting };
  }

  async start() {
    rmSync(this.path, { force: true });
    this.#server = createServer((socket) => this.#accept(socket));
    await new Promise((resolve, reject) => this.#server.once("error", reject).listen(this.path, resolve));
  }

  /** Ends as a process that stops in order: the socket goes with it. */
  async stop() {
    for (const socket of this.sockets) socket.destroy();
    this.sockets = [];
    if (this.#server) await new Promise((resolve) => this.#server.close(resolve));
    this.#server = undefined;
  }

  /** Ends as a process that was killed: connections break, and the socket stays without anybody behind it. */
  async kill() {
    const kept = `${this.path}.kept`;
    linkSync(this.path, kept);
    await this.stop();
    if (!existsSync(this.path)) renameSync(kept, this.path);
  }

  get socket() {
    return this.sockets[this.sockets.length - 1];
  }

  send(message) {
    this.socket.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  answer(message, result) {
    this.send({ id: message.id, result });
  }

  /** Sends a request and waits for the answer. */
  request(method, params) {
    const id = `d${(this.#lastId += 1)}`;
    const reply = new Promise((resolve) => this.#waiting.set(id, resolve));
    this.send({ id, method, params });
    return reply;
  }

  /** Has pi carry out a command, and waits for its response. */
  async command(command) {
    const { result, error } = await this.request("pi.command", { command });
    if (error) throw new Error(error.message);
    return result;
  }

  /** Waits for a message of this method that no test has taken yet. */
  async next(method, matches = () => true) {
    const found = await this.until(() => this.messages.find((one) => !one.isTaken && one.method === method && matches(one.params)));
    found.isTaken = true;
    return found;
  }

  /** Waits for an event of pi. */
  async event(type, matches = () => true) {
    return (await this.next("pi.event", ({ event }) => event.type === type && matches(event))).params.event;
  }

  get events() {
    return this.messages.filter((one) => one.method === "pi.event").map((one) => one.params.event);
  }

  #accept(socket) {
    const connection = (this.connections += 1);
    this.sockets.push(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      this.sockets = this.sockets.filter((one) => one !== socket);
      this.happened();
    });
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk) => {
      text += chunk;
      const lines = text.split("\n");
      text = lines.pop();
      for (const line of lines) this.#take(JSON.parse(line), socket, connection);
    });
    this.happened();
  }

  #take(message, socket, connection) {
    if (message.id === null) this.refusals.push(message.error);
    if (message.method === undefined) {
      this.#waiting.get(message.id)?.(message);
      this.#waiting.delete(message.id);
      return this.happened();
    }
    this.messages.push({ ...message, connection });
    const prepared = this.answers[message.method];
    if (message.id !== undefined && prepared !== undefined) {
      let body;
      try {
        body = { result: typeof prepared === "function" ? prepared(message.params) : prepared };
      } catch (error) {
        body = { error: { code: error.code, message: error.message } };
      }
      if (body.error || body.result !== undefined) socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, ...body })}\n`);
    }
    this.happened();
  }
}

/** An error for `answers`. */
export function refusal(code, message) {
  return () => {
    throw { code, message };
  };
}
