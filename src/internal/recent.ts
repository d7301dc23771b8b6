/**
 * Keeps the most recently set values whose weights together stay within
 * `capacity`; the newest is kept whatever it weighs. Losing an entry costs time
 * and nothing else.
 */
export class Recent<Value> {
  readonly #values = new Map<string, { readonly value: Value; readonly weight: number }>();
  readonly #capacity: number;
  #weight = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)?.value;
  }

  set(key: string, value: Value, weight = 1): void {
    this.delete(key);
    this.#values.set(key, { value, weight });
    this.#weight += weight;
    if (this.#weight > this.#capacity) this.#shrink();
  }

  #shrink(): void {
    for (const oldest of this.#values.keys()) {
      if (this.#weight <= this.#capacity || this.#values.size === 1) return;
      this.delete(oldest);
    }
  }

  values(): Value[] {
    return [...this.#values.values()].map(({ value }) => value);
  }

  delete(key: string): void {
    this.#weight -= this.#values.get(key)?.weight ?? 0;
    this.#values.delete(key);
  }
}
