import type { RunEvent } from "../events.ts";

/**
 * Events in order, each shown once the writes that it depends on were made: a crash
 * cannot take back what was shown.
 */
export class GatedEvents {
  readonly #show: (event: RunEvent) => void;
  /** False as long as another run may come first: then this one begins again, and must not have shown anything. */
  readonly #isOpen: () => boolean;
  readonly #waiting: { readonly event: RunEvent; readonly restsOn: number }[] = [];
  #begun = 0;
  #made = 0;
  #isOwed = false;

  constructor(show: (event: RunEvent) => void, isOpen: () => boolean) {
    this.#show = show;
    this.#isOpen = isOpen;
  }

  /** Whether a write was announced that has not begun. */
  get isOwed(): boolean {
    return this.#isOwed;
  }

  /** Events from here on rest on the next write. */
  owe(): void {
    this.#isOwed = true;
  }

  add(event: RunEvent): void {
    this.#waiting.push({ event, restsOn: this.#begun + (this.#isOwed ? 1 : 0) });
    this.#flush();
  }

  /** Inserts an event that belongs to the write in progress: before everything that depends on that write. */
  addOfWrite(event: RunEvent): void {
    const place = this.#waiting.findIndex(({ restsOn }) => restsOn >= this.#begun);
    const entry = { event, restsOn: this.#begun };
    if (place === -1) this.#waiting.push(entry);
    else this.#waiting.splice(place, 0, entry);
  }

  show(event: RunEvent): void {
    this.#show(event);
  }

  /** To be called when a write begins; returns what to call when it was made. */
  beginWrite(): () => void {
    const number = ++this.#begun;
    this.#isOwed = false;
    return () => {
      this.#made = number;
      this.#flush();
    };
  }

  /** Events that were not shown are dropped; warnings are shown, unless the run begins again. */
  drop(showWarnings: boolean): void {
    for (const { event } of this.#waiting.splice(0)) if (showWarnings && event.type === "warning") this.#show(event);
  }

  #flush(): void {
    if (!this.#isOpen()) return;
    let count = 0;
    for (const { restsOn } of this.#waiting) {
      if (restsOn > this.#made) break;
      count++;
    }
    for (const { event } of this.#waiting.splice(0, count)) this.#show(event);
  }
}
