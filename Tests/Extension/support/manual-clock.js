/** A clock that stands still until a test moves it. */
export class ManualClock {
  #now = 0;
  #timers = new Set();

  now() {
    return this.#now;
  }

  after(milliseconds, run) {
    const timer = { at: this.#now + milliseconds, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Waits of the timers that are set, in milliseconds. */
  get waits() {
    return [...this.#timers].map((timer) => timer.at - this.#now).sort((one, other) => one - other);
  }

  advance(milliseconds) {
    const end = this.#now + milliseconds;
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.at <= end).sort((one, other) => one.at - other.at)[0];
      if (!due) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.run();
    }
    this.#now = end;
  }
}
