/** A place where a process can be stopped: it passes, or it never comes back. */
export type AwaitPoint = (name: string) => Promise<void>;

const NEVER: Promise<never> = new Promise(() => undefined);

/**
 * Cuts the power at the n-th await point. From then on nothing of this "process"
 * moves any more: every point it reaches is its last. What was already on its way
 * to the storage arrives, as it would from a process that was killed an instant later.
 */
export class Fuse {
  /** The names of the points that were reached, the last one included. */
  readonly reached: string[] = [];
  readonly #at: number;
  #isBlown = false;
  #underWay = 0;
  #onBlown: () => void = () => undefined;
  /** Resolves when the power is gone and the storage is at rest. */
  readonly blown: Promise<void> = new Promise((resolve) => {
    this.#onBlown = resolve;
  });

  /** `Infinity` never blows. */
  constructor(at: number) {
    this.#at = at;
  }

  readonly point: AwaitPoint = async (name) => {
    if (this.#isBlown) return NEVER;
    this.reached.push(name);
    if (this.reached.length !== this.#at) return;
    this.#isBlown = true;
    this.#rest();
    return NEVER;
  };

  /** Cuts the power now, between two points. */
  blow(name: string): void {
    if (this.#isBlown) return;
    this.reached.push(name);
    this.#isBlown = true;
    this.#rest();
  }

  /** Work of the storage, which the cut must wait for. */
  async storing<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay++;
    try {
      return await work();
    } finally {
      this.#underWay--;
      this.#rest();
    }
  }

  #rest(): void {
    if (this.#isBlown && this.#underWay === 0) this.#onBlown();
  }
}
