import { activateAttached, activateChild } from "./lib/activation.js";
import { systemClock } from "./lib/clock.js";
import { socketPath } from "./lib/socket-path.js";

/**
 * Connects pi to pi-relayd. Nothing is opened before a session of pi begins.
 * @param {PiAPI} pi
 */
export default function piRelay(pi) {
  activate(pi, { env: process.env, clock: systemClock, random: Math.random, isTerminal: process.stdin.isTTY === true });
}

/**
 * @param {PiAPI} pi
 * @param {{
 *   env: Record<string, string | undefined>,
 *   clock: import("./lib/clock.js").Clock,
 *   random: () => number,
 *   isTerminal: boolean,
 * }} surroundings `isTerminal`: pi's input is a terminal
 */
export function activate(pi, { env, clock, random, isTerminal }) {
  const surroundings = { path: socketPath(env), clock, random, isTerminal };
  // A person's terminal can have inherited the variable, as in a tmux that the agent started.
  if (env.PI_RELAY_SESSION && !isTerminal) return activateChild(pi, surroundings, env);
  // Agents that another extension starts are part of its session.
  if (env.PI_SUBAGENT_CHILD !== "1") activateAttached(pi, surroundings, env);
}
