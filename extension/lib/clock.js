/**
 * Time, which tests replace. `after` returns a function that cancels.
 * @typedef {{ now(): number, after(milliseconds: number, run: () => void): () => void }} Clock
 */

/**
 * Timers that never keep pi from exiting.
 * @type {Clock}
 */
export const systemClock = {
  now: () => Date.now(),
  after(milliseconds, run) {
    const timer = setTimeout(run, Math.min(milliseconds, 0x7fffffff));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
