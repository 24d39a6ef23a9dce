/** Lets a test wait until something is so: the condition is looked at again after each happening, never on a timer. */
export class Happenings {
  #waiting = new Set();

  happened() {
    for (const look of [...this.#waiting]) look();
  }

  /** Resolves with the first value of `condition` that is not false or undefined. */
  until(condition) {
    return new Promise((resolve, reject) => {
      const look = () => {
        try {
          const value = condition();
          if (value === undefined || value === false) return;
          this.#waiting.delete(look);
          resolve(value);
        } catch (error) {
          this.#waiting.delete(look);
          reject(error);
        }
      };
      this.#waiting.add(look);
      look();
    });
  }
}
