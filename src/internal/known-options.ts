import { StateError } from "../errors.ts";
import { nearestName } from "./nearest-name.ts";

/** "anything" marks an option that is checked elsewhere, with its own messages. */
type Kind = "string" | "number" | "boolean" | "object" | "function" | "anything";

/** Every option and its kind. The type makes the compiler report a missing one. */
export type OptionKinds<Options> = Readonly<Record<keyof Options, Kind | readonly Kind[]>>;

/**
 * Refuses an unknown option or one of the wrong kind: a misspelt `threadId` would
 * save nothing, a misspelt `lease` would protect nothing.
 */
export function assertKnownOptions(where: string, options: object, kinds: OptionKinds<Record<string, unknown>>): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(`${where} takes its options as an object, not ${described(options)}`);
  }
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind === undefined) throw unknownOption(where, name, Object.keys(kinds));
    const allowed = [kind].flat();
    if (value === undefined || allowed.includes("anything")) continue;
    if (value !== null && allowed.includes(typeof value as Kind)) continue;
    throw new TypeError(`${where}: ${name} must be ${allowed.map(withArticle).join(" or ")}, not ${described(value)}`);
  }
}

export const withArticle = (kind: Kind): string => (kind === "object" ? "an object" : `a ${kind}`);

export function unknownOption(where: string, name: string, names: readonly string[]): StateError {
  const meant = nearestName(name, names);
  const instead = meant === undefined ? `it takes ${names.join(", ")}` : `did you mean ${JSON.stringify(meant)}?`;
  return new StateError("INVALID_ARGUMENT", `${where} has no option ${JSON.stringify(name)}; ${instead}`);
}

/** Names the kind of a value without revealing its content. */
export function described(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  if (typeof value !== "object") return `a ${typeof value}`;
  const name: unknown = value.constructor?.name;
  return typeof name === "string" && name !== "" && name !== "Object" ? `an object of class ${name}` : "an object";
}
