import { UsageError } from "./exit-codes.ts";
import { durationOf } from "./output/wording.ts";

type Value = string | boolean | readonly (string | boolean)[] | undefined;

/** The options of one call. Their names were checked against the table. */
export class GivenOptions {
  readonly #values: Readonly<Record<string, Value>>;

  constructor(values: Readonly<Record<string, Value>>) {
    this.#values = values;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  list(name: string): readonly string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
  }

  count(name: string, otherwise: number, least = 0, most = 10_000): number {
    const text = this.text(name);
    if (text === undefined) return otherwise;
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw new UsageError(`--${name} takes a whole number from ${least} to ${most}`);
  }

  /** In milliseconds. */
  duration(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const ms = durationOf(text);
    if (ms === undefined) throw new UsageError(`--${name} takes a time such as 30m, 12h or 7d`);
    return ms;
  }
}
