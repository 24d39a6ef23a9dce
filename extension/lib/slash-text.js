import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fillTemplate, withoutFrontMatter } from "./template-text.js";

/** Commands of pi's own terminal, which mean nothing to an extension. */
const terminalCommands = new Set(
  (
    "settings model scoped-models export import share copy changelog hotkeys fork clone tree trust login logout new resume " +
    "reload quit exit session"
  ).split(" "),
);

/**
 * `text`: give it to the model, and call `accepted` when pi has it. `extension`: a command of an extension, which pi has to run.
 * `own`: a command of this extension. `compact`, `name`: pi's commands that an extension can carry out.
 * @typedef {{ kind: "text", text: string, accepted?: () => void }
 *   | { kind: "extension" | "own" | "compact" | "name", name: string, line: string }} Meaning
 */

/** Finds what a message that begins with `/` means in this session: pi gives the text of an extension to the model unread. */
export class SlashText {
  /**
   * The hashes of the skills that the model has read in this session.
   * @type {Set<string>}
   */
  #seenSkills = new Set();
  #pi;

  /** @param {PiAPI} pi */
  constructor(pi) {
    this.#pi = pi;
  }

  /**
   * @param {string} text
   * @returns {Promise<Meaning>}
   * @throws {Error} for a command that works only in pi's terminal
   */
  async read(text) {
    const found = /^\/([^\s/]+)(?:\s+([\s\S]*))?$/.exec(text);
    if (!found) return { kind: "text", text };
    const name = /** @type {string} */ (found[1]);
    const line = (found[2] ?? "").trim();
    const command = this.#pi.getCommands().find((one) => one.name === name);
    if (command?.source === "extension") return { kind: isOwn(name) ? "own" : "extension", name, line };
    if (command?.source === "skill") return this.#skill(command, line);
    if (command?.source === "prompt") return { kind: "text", text: fillTemplate(withoutFrontMatter(await contents(command)), line) };
    if (isOwn(name)) return { kind: "own", name, line };
    if (name === "compact" || name === "name") return { kind: name, name, line };
    if (terminalCommands.has(name)) throw new Error(`/${name} works only in pi's own terminal`);
    return { kind: "text", text };
  }

  /** The model no longer knows what it has read: the session was compacted. */
  forgetSkills() {
    this.#seenSkills.clear();
  }

  /** @param {PiCommandInfo} command @param {string} line @returns {Promise<Meaning>} */
  async #skill(command, line) {
    const text = await contents(command);
    const name = command.name.replace(/^skill:/, "");
    const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
    const request = line === "" ? "" : `\n\n${line}`;
    if (this.#seenSkills.has(hash)) {
      return { kind: "text", text: `Use the skill "${name}" again, as given before in this session.${request}` };
    }
    const path = pathOf(command);
    const body = withoutFrontMatter(text);
    return {
      kind: "text",
      text: `<skill name="${name}" location="${path}">\nPaths in this skill are relative to ${dirname(path)}.\n\n${body}\n</skill>${request}`,
      accepted: () => this.#seenSkills.add(hash),
    };
  }
}

/** @param {string} name which pi numbers (`relay:2`) where another extension has the same */
export function isOwn(name) {
  return /^(?:relay|pidash|bridge:status|bridge:ping)(?::\d+)?$/.test(name);
}

/**
 * Tells whether a command is of use to a chat: those of this extension are for the person at the terminal, but for two.
 * @param {string} name
 */
export function worksInChat(name) {
  return !isOwn(name) || name.startsWith("bridge:");
}

/** @param {PiCommandInfo} command */
function pathOf(command) {
  return command.sourceInfo?.path ?? command.path ?? "";
}

/** @param {PiCommandInfo} command */
async function contents(command) {
  try {
    return await readFile(pathOf(command), "utf8");
  } catch {
    throw new Error(`/${command.name} could not be expanded: ${pathOf(command) || "its file"} cannot be read`);
  }
}
