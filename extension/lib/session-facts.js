import { basename } from "node:path";
import { gitBranch } from "./git-branch.js";

/**
 * The facts of a session that the daemon shows. `session` stays the same when pi is started again with the same session.
 * @param {PiAPI} pi
 * @param {PiContext} ctx
 */
export function sessionFacts(pi, ctx) {
  return {
    session: ctx.sessionManager.getSessionId(),
    name: pi.getSessionName() || basename(ctx.cwd),
    directory: ctx.cwd,
    model: ctx.model ? `${ctx.model.provider}/${ctx.model.id}` : undefined,
    branch: gitBranch(ctx.cwd),
    sessionFile: ctx.sessionManager.getSessionFile(),
  };
}

/** Fields of a model that the daemon may show. Others can hold addresses and headers with credentials. */
const modelFields = ["id", "name", "api", "provider", "reasoning", "input", "cost", "contextWindow", "maxTokens"];

/** @param {PiModel | undefined} model */
export function shownModel(model) {
  if (!model) return undefined;
  return Object.fromEntries(modelFields.filter((field) => model[field] !== undefined).map((field) => [field, model[field]]));
}
