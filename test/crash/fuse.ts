import { StateError } from "../../src/errors.ts";

/** A place where a process can be stopped: it passes, or it never comes back. */
export type AwaitPoint = (name: string) => Promise<void>;

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
  #moves = 0;
  #onBlown: () => void = () => undefined;
  /** Resolves when the power is gone and the storage is at rest. */
  readonly blown: Promise<void> = new Promise((resolve) => {
    this.#onBlown = resolve;
  });

  #onBuried: (reason: unknown) => void = () => undefined;
  /** What a process waits for that gets no further. */
  readonly never: Promise<never> = new Promise((_, reject) => {
    this.#onBuried = reject;
  });

  /** `Infinity` never blows. */
  constructor(at: number) {
    this.#at = at;
    this.never.catch(() => undefined);
  }

  readonly point: AwaitPoint = async (name) => {
    if (this.#isBlown) return this.never;
    this.reached.push(name);
    if (this.reached.length !== this.#at) return;
    this.#isBlown = true;
    this.#rest();
    return this.never;
  };

  /**
   * What another process found out for this one, unless it died meanwhile: then it never gets the
   * answer.
   */
  async alive<T>(work: Promise<T>): Promise<T> {
    const found = await work;
    return this.#isBlown ? this.never : found;
  }

  /** Cuts the power now, between two points. */
  blow(name: string): void {
    if (this.#isBlown) return;
    this.reached.push(name);
    this.#isBlown = true;
    this.#rest();
  }

  /**
   * Once everything was judged: every pending wait fails, at every point, and is
   * forgotten. Thousands of dead processes would fill the memory of this one.
   */
  bury(): void {
    this.#isBlown = true;
    this.#onBuried(new StateError("CLOSED", "this process is dead"));
  }

  /** How often something moved: a point was reached, or the storage began or ended something. */
  get moves(): number {
    return this.reached.length + this.#moves;
  }

  get isStoring(): boolean {
    return this.#underWay > 0;
  }

  /** Work of the storage, which the cut must wait for. */
  async storing<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay++;
    this.#moves++;
    try {
      return await work();
    } finally {
      this.#underWay--;
      this.#moves++;
      this.#rest();
    }
  }

  #rest(): void {
    if (this.#isBlown && this.#underWay === 0) this.#onBlown();
  }
}
