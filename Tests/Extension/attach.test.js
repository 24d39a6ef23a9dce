import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gitBranch } from "../../extension/lib/git-branch.js";
import { scene } from "./support/scene.js";

test("a session in a terminal registers with what the daemon shows of it", async (t) => {
  const { connect, pi } = scene(t);
  pi.name = "payments";
  pi.entries = [{ id: "e7", type: "message" }];
  const { params } = await connect();
  assert.deepEqual(params, {
    version: "0.1.0",
    pid: process.pid,
    session: "pi-1",
    name: "payments",
    directory: "/work/api",
    model: "fake/fake-1",
    sessionFile: "/sessions/pi-1.jsonl",
    reason: "startup",
    isIdle: true,
    leafId: "e7",
    bridge: {},
  });
});

test("the branch is read from the repository above the working directory", async (t) => {
  const one = scene(t);
  mkdirSync(join(one.folder, "repo/.git"), { recursive: true });
  mkdirSync(join(one.folder, "repo/sub"));
  writeFileSync(join(one.folder, "repo/.git/HEAD"), "ref: refs/heads/feature/x\n");
  one.pi.ctx.cwd = join(one.folder, "repo/sub");
  const { params } = await one.connect();
  assert.equal(params.branch, "feature/x");
});

test("the branch of a linked work tree is read, too, and a detached head has none", async (t) => {
  const one = scene(t);
  mkdirSync(join(one.folder, "repo/.git/worktrees/w"), { recursive: true });
  mkdirSync(join(one.folder, "w"));
  writeFileSync(join(one.folder, "w/.git"), "gitdir: ../repo/.git/worktrees/w\n");
  writeFileSync(join(one.folder, "repo/.git/worktrees/w/HEAD"), "ref: refs/heads/fix\n");
  assert.equal(gitBranch(join(one.folder, "w")), "fix");
  writeFileSync(join(one.folder, "repo/.git/worktrees/w/HEAD"), "0123456789abcdef0123456789abcdef01234567\n");
  assert.equal(gitBranch(join(one.folder, "w")), undefined);
});

test("the footer names the session and the machine", async (t) => {
  const { connect, pi } = scene(t);
  await connect();
  assert.equal(pi.status, "relay: api on box");
});
