/**
 * The arguments of a command line, as pi splits them: separated by white space, quoted with `'` or `"`. Unlike pi, it takes a `'` within
 * a word for an apostrophe, and keeps a quotation mark that has no other.
 * @param {string} line
 */
export function splitArguments(line) {
  const words = line.match(/(?:"[^"]*"|(?<!\S)'[^']*'|[^\s"]|")+/g) ?? [];
  const bare = words.map((one) => one.replace(/"([^"]*)"|^'([^']*)'/g, (_, double, single) => double ?? single));
  return bare.filter((one) => one !== "");
}

const placeholder = /\$\{(@|ARGUMENTS|\d+):-([^}]*)\}|\$\{@:(\d+)(?::(\d+))?\}|\$(@|ARGUMENTS\b|\d+)/g;

/**
 * A prompt template with its arguments: `$1`, `$@`, `$ARGUMENTS`, `${@:2}`, `${@:2:1}`, `${1:-default}`, `${@:-default}`,
 * `${ARGUMENTS:-default}`. Arguments are inserted as they are: placeholders in them are text.
 * @param {string} template
 * @param {string} line
 */
export function fillTemplate(template, line) {
  const all = splitArguments(line);
  const value = (/** @type {string} */ name) => (/^\d+$/.test(name) ? (all[Number(name) - 1] ?? "") : all.join(" "));
  return template.replace(placeholder, (_, named, fallback, from, count, plain) => {
    if (named !== undefined) return value(named) || fallback;
    if (plain !== undefined) return value(plain);
    const start = Math.max(Number(from) - 1, 0);
    return all.slice(start, count === undefined ? undefined : start + Number(count)).join(" ");
  });
}

/**
 * A file of pi without its front matter.
 * @param {string} text
 */
export function withoutFrontMatter(text) {
  return text.replace(/^\uFEFF?---\r?\n[\s\S]*?\r?\n---[ \t]*(?:\r?\n|$)/, "").trim();
}
