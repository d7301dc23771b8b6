/** The values that were set last. Forgetting one costs time and nothing else. */
export class Recent<Value> {
  readonly #values = new Map<string, Value>();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > this.#capacity && oldest !== undefined) this.#values.delete(oldest);
  }

  values(): Value[] {
    return [...this.#values.values()];
  }

  delete(key: string): void {
    this.#values.delete(key);
  }
}
