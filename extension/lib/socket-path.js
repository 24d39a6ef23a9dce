import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Longest path of a Unix socket, in bytes. */
const MAXIMUM_SOCKET_PATH = 107;

/**
 * The path of the daemon's control socket: `PI_RELAY_SOCKET`, or `run/control.sock` in the daemon's home. Where that is too long for
 * a socket, `run/control.path` names another.
 * @param {Record<string, string | undefined>} env
 */
export function socketPath(env) {
  if (env.PI_RELAY_SOCKET) return env.PI_RELAY_SOCKET;
  const home = env.PI_RELAY_HOME ? resolve(env.PI_RELAY_HOME) : join(env.HOME || homedir(), ".pi/agent/relay");
  const path = join(home, "run/control.sock");
  if (Buffer.byteLength(path) <= MAXIMUM_SOCKET_PATH) return path;
  try {
    return readFileSync(join(home, "run/control.path"), "utf8").trim();
  } catch {
    // The daemon writes it at its start: until then nothing listens.
    return path;
  }
}

/**
 * The reason why no connection to the socket should be tried, or undefined.
 *
 * A socket of another user could belong to anybody who made the folder first.
 * @param {string} path
 * @returns {{ missing: boolean, text: string } | undefined}
 */
export function socketObstacle(path) {
  let status;
  try {
    status = statSync(path);
  } catch {
    return { missing: true, text: "the daemon is not running" };
  }
  if (!status.isSocket()) return { missing: false, text: `${path} is not a socket; move it away` };
  const user = process.getuid?.();
  if (user !== undefined && status.uid !== user) {
    return { missing: false, text: `${path} belongs to another user; set PI_RELAY_HOME to a folder of your own` };
  }
  return undefined;
}
