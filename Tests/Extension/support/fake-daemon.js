import { existsSync, linkSync, renameSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { Happenings } from "./happenings.js";

/**
 * A stand-in of pi-relayd on a real Unix socket. It greets, keeps what it hears, and answers what a test tells it to. A connection
 * whose `session.attach` it has answered becomes a stream, on which it speaks to pi as to `pi --mode rpc`.
 */
export class FakeDaemon extends Happenings {
  /** Every message of JSON-RPC that came, with the number of its connection. */
  messages = [];
  /** Every event that came on a stream. */
  events = [];
  /** Every response that came on a stream. */
  responses = [];
  /** Every line of the streams, with the side that wrote it. */
  streamLines = [];
  /** Answers by method: a value, or a function of the parameters that may throw `{ code, message }`. `undefined`: no answer. */
  answers = {};
  approvals = { enabled: true, timeoutSeconds: 120 };
  /** Errors that answer no request. */
  refusals = [];
  connections = 0;
  sockets = [];
  /** The socket of the last stream, and that of the last greeted connection for requests. */
  stream;
  requests;
  #server;
  #lastId = 0;
  #waiting = new Map();
  #taken = new Set();

  constructor(path) {
    super();
    this.path = path;
    const greeting = () => ({ machine: "box", session: { id: "s1", name: "api" }, approvals: this.approvals });
    this.answers = { "session.attach": greeting, "extension.hello": greeting, "pairing.list": { pairings: [], trusted: [] } };
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

  /** Sends a message on the connection of the requests. */
  send(message) {
    this.requests.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  answer(message, result) {
    this.send({ id: message.id, result });
  }

  /** Sends a request and waits for the answer. */
  request(method, params) {
    const id = this.#newId();
    const reply = new Promise((resolve) => this.#waiting.set(id, resolve));
    this.send({ id, method, params });
    return reply;
  }

  /** Writes a line to pi. */
  write(line) {
    this.streamLines.push({ from: "daemon", line });
    this.stream.write(`${line}\n`);
  }

  /** Has pi carry out a command, and waits for its response. */
  command(command) {
    const id = command.id ?? this.#newId();
    const response = new Promise((resolve) => this.#waiting.set(id, resolve));
    this.write(JSON.stringify({ id, ...command }));
    return response;
  }

  /** Waits for a message of this method that no test has taken yet. */
  next(method, matches = () => true) {
    return this.#next(() => this.messages, (one) => one.method === method && matches(one.params));
  }

  /** Waits for an event of pi that no test has taken yet. */
  event(type, matches = () => true) {
    return this.#next(() => this.events, (one) => one.type === type && matches(one));
  }

  async #next(list, matches) {
    const found = await this.until(() => list().find((one) => !this.#taken.has(one) && matches(one)));
    this.#taken.add(found);
    return found;
  }

  #newId() {
    return `relay-${(this.#lastId += 1)}`;
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
      for (const line of lines) this.#takeLine(line, socket, connection);
      this.happened();
    });
    this.happened();
  }

  #takeLine(line, socket, connection) {
    const message = JSON.parse(line);
    if (socket.isStream) {
      this.streamLines.push({ from: "extension", line });
      if (message.type !== "response") return void this.events.push(message);
      this.responses.push(message);
      return this.#settle(message);
    }
    if (message.id === null) this.refusals.push(message.error);
    if (message.method === undefined) return this.#settle(message);
    this.messages.push({ ...message, connection });
    const reply = this.#reply(message);
    if (message.method === "session.attach" && reply?.includes('"result"')) {
      this.becomesStream(socket);
      this.streamLines.push({ from: "extension", line }, { from: "daemon", line: reply });
    }
    if (message.method === "extension.hello") this.requests = socket;
    if (reply !== undefined) socket.write(`${reply}\n`);
  }

  becomesStream(socket) {
    socket.isStream = true;
    this.stream = socket;
  }

  #settle(message) {
    this.#waiting.get(message.id)?.(message);
    this.#waiting.delete(message.id);
  }

  /** The line of the prepared answer; undefined where there is none. */
  #reply({ id, method, params }) {
    const prepared = this.answers[method];
    if (id === undefined || prepared === undefined) return undefined;
    try {
      const result = typeof prepared === "function" ? prepared(params) : prepared;
      return result === undefined ? undefined : JSON.stringify({ jsonrpc: "2.0", id, result });
    } catch (error) {
      return JSON.stringify({ jsonrpc: "2.0", id, error: { code: error.code, message: error.message } });
    }
  }
}

/** An error for `answers`. */
export function refusal(code, message) {
  return () => {
    throw { code, message };
  };
}
