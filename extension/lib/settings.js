import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const mebibyte = 1 << 20;

/**
 * Settings by name: the default, and the range of a number. The first three are the extension's own; the others are those of the
 * session's bridge, which the daemon serves.
 * @type {Record<string, { value: boolean | number | string | undefined, from?: number, to?: number, environment?: string }>}
 */
export const table = {
  enabled: { value: true },
  showStatus: { value: true },
  notifyOnStart: { value: false },
  bridgeDir: { value: undefined, environment: "PI_BRIDGE_DIR" },
  historyLimit: { value: 500, from: 1, to: 100_000, environment: "PI_BRIDGE_HISTORY" },
  maxEventBytes: { value: 8_192, from: 256, to: mebibyte },
  maxHistoryBytes: { value: 4 * mebibyte, from: 4_096, to: 256 * mebibyte },
  maxHistoryResponseBytes: { value: mebibyte, from: 4_096, to: 16 * mebibyte },
  eventPreviewBytes: { value: 256, from: 16, to: 65_536 },
  spillRawEvents: { value: true },
  maxRawSpillBytes: { value: 16 * mebibyte, from: 4_096, to: 1_024 * mebibyte },
  maxLineBytes: { value: mebibyte, from: 1_024, to: 16 * mebibyte },
  heartbeatMs: { value: 15_000, from: 1_000, to: 600_000 },
};

const own = ["enabled", "showStatus", "notifyOnStart"];

/** The places of the settings in a file; a later one counts more. The last two are written by the tab of `/extensions:settings`. */
const places = [["relay"], ...["vstack", "kendex"].map((name) => [name, "extensionManager", "config", "pi-relay"])];

/**
 * The settings under `relay`, and under `kendex.extensionManager.config["pi-relay"]`, in pi's settings files: the user's, then those of a project that the user trusts, then the
 * environment's. A value that is not one of its kind is a problem, and has no effect.
 */
export class Settings {
  /** @type {Map<string, { value: boolean | number | string, origin: string }>} */
  #set = new Map();
  /** @type {string[]} */
  problems = [];

  /**
   * @param {Record<string, string | undefined>} env
   * @param {PiContext} [ctx] none: the defaults
   */
  constructor(env, ctx) {
    if (!ctx) return;
    const agent = env.PI_CODING_AGENT_DIR || join(env.HOME || homedir(), ".pi/agent");
    const files = [join(agent, "settings.json")];
    if (ctx.isProjectTrusted?.()) files.push(join(ctx.cwd, ".pi/settings.json"));
    for (const file of files) {
      const all = contents(file);
      for (const place of places) {
        for (const [name, value] of Object.entries(section(all, place))) this.#take(name, value, file, place);
      }
    }
    for (const [name, { environment }] of Object.entries(table)) {
      const text = environment && env[environment];
      if (text) this.#take(name, typeof table[name]?.value === "number" ? Number(text) : text, environment);
    }
  }

  /** @param {string} name */
  isOn(name) {
    return (this.#set.get(name)?.value ?? table[name]?.value) === true;
  }

  /** The settings of the bridge that are not the defaults. */
  get ofBridge() {
    return Object.fromEntries([...this.#set].filter(([name]) => !own.includes(name)).map(([name, { value }]) => [name, value]));
  }

  /** All settings with their values and where these come from, a line each. */
  get text() {
    const lines = Object.keys(table).map((name) => {
      const { value, origin } = this.#set.get(name) ?? { value: table[name]?.value ?? "chosen by the daemon", origin: "default" };
      return `${name}: ${value} (${origin})`;
    });
    return [...lines, ...this.problems.map((one) => `✖ ${one}`)].join("\n");
  }

  /** @param {string} name @param {unknown} value @param {string} origin @param {string[]} [place] in a file */
  #take(name, value, origin, place = ["relay"]) {
    // The tab writes an empty text for no path.
    if (value === "" && name === "bridgeDir") return;
    const entry = Object.hasOwn(table, name) ? table[name] : undefined;
    const problem = entry === undefined ? "is not a setting" : mistake(value, entry);
    if (problem) this.problems.push(`${origin}: ${place.join(".")}.${name} ${problem}`);
    else this.#set.set(name, { value: /** @type {boolean | number | string} */ (value), origin });
  }
}

/**
 * @param {unknown} value
 * @param {{ value: boolean | number | string | undefined, from?: number, to?: number }} entry
 * @returns {string | undefined}
 */
function mistake(value, { value: standard, from = 0, to = Infinity }) {
  if (typeof standard === "boolean") return typeof value === "boolean" ? undefined : "must be true or false";
  if (standard === undefined) return typeof value === "string" && value.startsWith("/") ? undefined : "must be an absolute path";
  const isFitting = Number.isInteger(value) && Number(value) >= from && Number(value) <= to;
  return isFitting ? undefined : `must be a whole number from ${from} to ${to}`;
}

/** @param {string} file @returns {unknown} */
function contents(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    // pi itself reports a settings file that it cannot read.
    return undefined;
  }
}

/** @param {any} all @param {string[]} place @returns {Record<string, unknown>} */
function section(all, place) {
  const found = place.reduce((value, name) => value?.[name], all);
  return found !== null && typeof found === "object" ? found : {};
}
