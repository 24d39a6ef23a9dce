import { activateAttached, activateChild } from "./lib/activation.js";
import { systemClock } from "./lib/clock.js";
import { socketPath } from "./lib/socket-path.js";

/**
 * Connects pi to pi-relayd. Nothing is opened before a session of pi begins.
 * @param {PiAPI} pi
 */
export default function piRelay(pi) {
  activate(pi, { env: process.env, clock: systemClock, random: Math.random });
}

/**
 * @param {PiAPI} pi
 * @param {{ env: Record<string, string | undefined>, clock: import("./lib/clock.js").Clock, random: () => number }} surroundings
 */
export function activate(pi, { env, clock, random }) {
  const surroundings = { path: socketPath(env), clock, random };
  if (env.PI_RELAY_SESSION) return activateChild(pi, surroundings, env);
  // Agents that another extension starts are part of its session.
  if (env.PI_SUBAGENT_CHILD !== "1") activateAttached(pi, surroundings, env);
}
