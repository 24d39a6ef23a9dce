import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * `enabled`: join the daemon at all. `showStatus`: the text in the footer. `notifyOnStart`: a notice at the first connection.
 * @typedef {{ enabled: boolean, showStatus: boolean, notifyOnStart: boolean }} Settings
 */

/** @type {Readonly<Settings>} */
export const defaults = { enabled: true, showStatus: true, notifyOnStart: false };

/**
 * The settings under `relay` in pi's settings files: the user's, then those of a project that the user trusts.
 * @param {Record<string, string | undefined>} env
 * @param {PiContext} ctx
 * @returns {{ settings: Settings, problems: string[] }}
 */
export function readSettings(env, ctx) {
  const agent = env.PI_CODING_AGENT_DIR || join(env.HOME || homedir(), ".pi/agent");
  const files = [join(agent, "settings.json")];
  if (ctx.isProjectTrusted?.()) files.push(join(ctx.cwd, ".pi/settings.json"));
  const settings = { ...defaults };
  /** @type {string[]} */
  const problems = [];
  for (const file of files) {
    for (const [key, value] of Object.entries(section(file))) {
      if (!(key in defaults)) problems.push(`${file}: relay.${key} is not a setting`);
      else if (typeof value !== "boolean") problems.push(`${file}: relay.${key} must be true or false`);
      else settings[/** @type {keyof Settings} */ (key)] = value;
    }
  }
  return { settings, problems };
}

/** @param {string} file @returns {Record<string, unknown>} */
function section(file) {
  try {
    const { relay } = JSON.parse(readFileSync(file, "utf8"));
    return relay !== null && typeof relay === "object" ? relay : {};
  } catch {
    // pi itself reports a settings file that it cannot read.
    return {};
  }
}
