import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/**
 * The branch that is checked out in a folder or above it, read from Git's own files: no process is started.
 * @param {string} folder
 * @returns {string | undefined} undefined outside a repository and with a detached HEAD
 */
export function gitBranch(folder) {
  for (let current = folder, parent = ""; current !== parent; parent = current, current = dirname(current)) {
    const head = readHead(join(current, ".git"));
    if (head !== undefined) return /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1]?.trim();
  }
  return undefined;
}

/** @param {string} git the folder `.git`, or the file that names it in a linked work tree */
function readHead(git) {
  try {
    if (statSync(git).isDirectory()) return readFileSync(join(git, "HEAD"), "utf8");
    const folder = /^gitdir: (.+)$/m.exec(readFileSync(git, "utf8"))?.[1]?.trim();
    return folder === undefined ? undefined : readFileSync(join(resolve(dirname(git), folder), "HEAD"), "utf8");
  } catch {
    return undefined;
  }
}
