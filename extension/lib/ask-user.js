import { NoAnswer } from "./rpc-connection.js";

const ownWords = "Something else (type an answer)";

/**
 * @typedef {{ label: string, description?: string }} Option
 * @typedef {{ question: string, options: Option[], allowText: boolean }} Question
 * @typedef {{ answer: string } | { cancelled: string }} Outcome
 */

/**
 * The parameters of the tool as a question, or an error that tells the model what to change.
 * @param {any} parameters
 * @returns {Question}
 */
export function questionOf(parameters) {
  const question = String(parameters?.question ?? "").trim();
  if (question === "") throw new Error("question: the text is missing");
  const given = Array.isArray(parameters.options) ? parameters.options : [];
  const options = given.map((/** @type {any} */ one) => ({
    label: String(typeof one === "string" ? one : (one?.label ?? "")).trim(),
    description: one?.description === undefined ? undefined : String(one.description),
  }));
  if (options.some((/** @type {Option} */ one) => one.label === "")) throw new Error("options: each needs a label");
  if (new Set(options.map((/** @type {Option} */ one) => one.label)).size !== options.length) {
    throw new Error("options: each label must be different");
  }
  return { question, options, allowText: parameters.allowText === true || options.length === 0 };
}

/**
 * Asks in dialogs. Those of pi are shown in the chat in a session that the daemon started.
 * @param {Pick<PiInterface, "select" | "input">} ui
 * @param {Question} question
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<Outcome>}
 */
export async function askIn(ui, { question, options, allowText }, signal) {
  const dialog = signal ? { signal } : {};
  if (options.length > 0) {
    const rows = options.map((one) => (one.description ? `${one.label} — ${one.description}` : one.label));
    const chosen = await ui.select(question, allowText ? [...rows, ownWords] : rows, dialog);
    if (chosen === undefined) return { cancelled: "the person dismissed the question" };
    const index = rows.indexOf(chosen);
    if (index >= 0) return { answer: /** @type {Option} */ (options[index]).label };
    if (chosen !== ownWords) return { answer: chosen };
  }
  const text = await ui.input(question, "", dialog);
  return text === undefined || text.trim() === "" ? { cancelled: "the person dismissed the question" } : { answer: text };
}

/**
 * Asks in the terminal and in the chats at once. The first answer counts; the other question is withdrawn, with a word about it.
 * @param {import("./attached-session.js").AttachedSession} session
 * @param {PiContext} ctx
 * @param {Question} question
 * @param {AbortSignal | undefined} signal of the run
 * @returns {Promise<Outcome>}
 */
export async function askEverywhere(session, ctx, question, signal) {
  const here = new AbortController();
  const there = new AbortController();
  const stop = () => {
    here.abort();
    there.abort();
  };
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  try {
    const remote = askThere(session, question, there.signal);
    const local = askIn(ctx.ui, question, here.signal).then((outcome) => ({ outcome, isLocal: true }));
    const chat = remote.then((outcome) => (outcome ? { outcome, isLocal: false } : local));
    const { outcome, isLocal } = await Promise.race([local, chat]);
    if (signal?.aborted) return { cancelled: "the run was stopped" };
    if (isLocal) there.abort("answer" in outcome ? `answered in the terminal: ${outcome.answer}` : "dismissed in the terminal");
    else ctx.ui.notify("answer" in outcome ? `Answered in a chat: ${outcome.answer}` : "The question was dismissed in a chat.", "info");
    return outcome;
  } finally {
    signal?.removeEventListener("abort", stop);
    stop();
  }
}

/**
 * Asks in the chats, anew after each loss of the connection.
 * @param {import("./attached-session.js").AttachedSession} session
 * @param {Question} question
 * @param {AbortSignal} signal
 * @returns {Promise<Outcome | undefined>} undefined where the chats have no answer to give
 */
async function askThere(session, question, signal) {
  while (await session.link.whenConnected({ signal })) {
    try {
      return await askIn(session.dialogs, question, signal);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
    }
  }
  return undefined;
}
