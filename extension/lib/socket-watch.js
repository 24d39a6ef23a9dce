import { existsSync, watch } from "node:fs";
import { dirname } from "node:path";

/** Levels of folders above the socket that are looked at: `run`, the daemon's home, and the home's parent. */
const levels = 3;

/**
 * Calls back when something changes in the folder where the socket would be, or in the nearest folder above it that exists.
 *
 * @param {string} path of the socket
 * @param {() => void} onChange
 * @returns {(() => void) | undefined} stops the watch; undefined where the folder cannot be watched
 */
export function watchForSocket(path, onChange) {
  let folder = dirname(path);
  for (let level = 1; level < levels && !existsSync(folder); level += 1) folder = dirname(folder);
  try {
    const watcher = watch(folder, { persistent: false }, onChange);
    watcher.on("error", () => watcher.close());
    return () => watcher.close();
  } catch {
    return undefined;
  }
}
