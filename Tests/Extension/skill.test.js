import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { scene } from "./support/scene.js";

const extension = new URL("../../extension/", import.meta.url);
const { pi: manifest } = JSON.parse(readFileSync(new URL("package.json", extension), "utf8"));
const [skills] = manifest.skills.map((folder) => new URL(`${folder}/`, extension));
const skill = readFileSync(new URL("relay/SKILL.md", skills), "utf8");

test("the package's manifest names the folder of the skill", () => {
  assert.deepEqual(readdirSync(skills), ["relay"]);
});

test("pi can read the beginning of the skill", () => {
  const [, front] = /^---\n([\s\S]+?)\n---\n/.exec(skill);
  const fields = front.split("\n").map((line) => /^([a-z]+): (.+)$/.exec(line).slice(1));
  assert.deepEqual(fields.map(([key]) => key), ["name", "description"]);
  assert.equal(fields[0][1], "relay");
  assert.ok(fields[1][1].length <= 1_024);
  // YAML would take it for another key, or for a comment, and pi would skip the skill.
  for (const [, value] of fields) assert.doesNotMatch(value, /: | #|^["'[{>|*&!%@`]/);
});

test("the skill names the tools that there are, with their parameters", (t) => {
  const { pi } = scene(t, { child: true, pi: { mode: "rpc" } });
  const named = [...skill.matchAll(/^\| `(\w+) \{(.*)\}` \|/gm)].map(([, name, parameters]) => [name, parameters]);
  const parametersOf = ({ parameters: { properties, required } }) =>
    Object.keys(properties).map((name) => (required.includes(name) ? name : `${name}?`)).join(", ");
  const offered = [...pi.tools.values()].filter((one) => one.name !== "discord_send").map((one) => [one.name, parametersOf(one)]);
  assert.deepEqual(named.sort(), offered.sort());
});

test("the installation has every folder of the package", () => {
  const makefile = readFileSync(new URL("../../Makefile", import.meta.url), "utf8");
  const installed = readdirSync(extension, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && /\.(js|md)$|package\.json$/.test(one.name))
    .map((one) => `${one.parentPath ?? one.path}/`.replace(extension.pathname, "").replace(/\/+$/, ""));
  for (const folder of new Set(installed)) assert.ok(makefile.includes(`/pi-relay/extension/${folder}`), folder);
});
