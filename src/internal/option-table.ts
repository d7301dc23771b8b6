import { StateError } from "../errors.ts";
import { assertKnownOptions, type Kind, type OptionKinds } from "./known-options.ts";

/** What is checked of one option, and its default. */
export interface OptionRow<Value = unknown> {
  readonly kind: Kind | readonly Kind[];
  /** For a number: the lowest value allowed. */
  readonly least?: number;
  /** For a number: it must be greater than this. */
  readonly above?: number;
  /** For a number: the highest value allowed. */
  readonly most?: number;
  /** For a number: it must be whole. */
  readonly whole?: true;
  /** The text that may stand in place of the number. */
  readonly or?: string;
  readonly default?: Value;
}

/** The type makes the compiler report a missing option. */
export type OptionTable<Options> = {
  readonly [Name in keyof Options]-?: OptionRow<NonNullable<Options[Name]>>;
};

type AnyTable = Readonly<Record<string, OptionRow>>;

/** What was given, or what counts where it is left out. */
export function given<Options, Name extends keyof Options>(
  options: Pick<Options, Name>,
  table: OptionTable<Options>,
  name: Name,
): NonNullable<Options[Name]> {
  const value = options[name] ?? table[name].default;
  if (value === undefined || value === null) throw new TypeError(`the option ${String(name)} has no default`);
  return value;
}

/** Refuses an unknown option, and one of the wrong kind. */
export function assertKinds(where: string, options: object, table: AnyTable): void {
  const kinds: OptionKinds<Record<string, unknown>> = Object.fromEntries(
    Object.entries(table).map(([name, { kind }]) => [name, kind]),
  );
  assertKnownOptions(where, options, kinds);
}

/** Refuses a number out of its range, of the options that the table has. */
export function assertRanges(where: string, options: object, table: AnyTable): void {
  for (const [name, row] of Object.entries(table)) {
    const value = (options as Readonly<Record<string, unknown>>)[name];
    const range = rangeOf(row);
    if (range === undefined || value === undefined || value === row.or || isWithin(value, row)) continue;
    const otherwise = row.or === undefined ? "" : `, or ${JSON.stringify(row.or)}`;
    throw new StateError("INVALID_ARGUMENT", `${where}: ${name} must be ${range}${otherwise}`);
  }
}

function isWithin(
  value: unknown,
  { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY, above, whole }: OptionRow,
): boolean {
  if (typeof value !== "number" || Number.isNaN(value)) return false;
  return (
    value >= least &&
    value <= most &&
    (above === undefined || value > above) &&
    (whole !== true || Number.isInteger(value))
  );
}

function rangeOf({ least, most, above, whole }: OptionRow): string | undefined {
  const upTo = most === undefined ? "" : ` and at most ${most}`;
  if (above !== undefined) return `a number greater than ${above}${upTo}`;
  return least === undefined ? undefined : `a ${whole === true ? "whole number" : "number"} from ${least} on`;
}
