import { StateError } from "../errors.ts";
import { described, unknownOption, withArticle } from "../internal/known-options.ts";

type Kind = "string" | "number" | "boolean" | "object" | "function";

const SHARED: OptionKinds = {
  stateSchema: "object",
  retry: "object",
  now: "function",
  durability: "string",
  redact: "function",
  access: "string",
  sealing: "object",
  cacheBytes: "number",
};

/** Options and their kinds. */
export type OptionKinds = Readonly<Record<string, Kind>>;

/**
 * Refuses unknown options, because a misspelt one would be ignored silently.
 * `shared` are those of every checkpointer.
 */
export function assertOptions(factory: string, options: object, own: OptionKinds, shared: OptionKinds = SHARED): void {
  if (typeof options !== "object" || options === null) throw new TypeError(`${factory}() takes an options object`);
  const known = { ...own, ...shared };
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(known, name) ? known[name] : undefined;
    if (kind === undefined) throw unknownOption(`${factory}()`, name, Object.keys(known));
    if (value === undefined || (value !== null && typeof value === kind)) continue;
    throw invalid(`${factory}(): ${name} must be ${withArticle(kind)}, not ${described(value)}`);
  }
}

/** The names of a method's options. The type requires all of them. */
export type Names<Options> = Readonly<Record<keyof Options & string, true>>;

/**
 * Checks a method's options argument. Anything but an object with known names is
 * refused: a silently ignored option would return a checkpoint that the caller did not
 * ask for.
 */
export function optionsOf<Options extends object>(
  method: string,
  given: Options | undefined,
  names: Names<Options>,
): Options {
  if (given === undefined) return {} as Options;
  const known = Object.keys(names);
  if (!isPlainObject(given)) {
    const takes = `${method}() takes its options as an object`;
    throw invalid(`${takes}, such as { ${known.slice(0, 2).join(", ")} }, not ${described(given)}`);
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(names, name)) throw unknownOption(`${method}()`, name, known);
  }
  return given;
}

/** Accepts plain objects of other realms too. */
export function isPlainObject(given: unknown): boolean {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return false;
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

export const invalid = (message: string): StateError => new StateError("INVALID_ARGUMENT", message);
