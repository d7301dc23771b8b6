import { StateError } from "../errors.ts";

/** "anything" marks an option that is checked elsewhere, with its own messages. */
export type Kind = "string" | "number" | "boolean" | "object" | "function" | "anything";

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

/** The known name that was most likely meant, or `undefined` if every name is too different. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const wanted = plain(given);
  const distances = known.map((name) => ({ name, distance: editDistance(wanted, plain(name)) }));
  const [best] = distances.sort((a, b) => a.distance - b.distance);
  if (best === undefined) return undefined;
  const isPart = wanted.length > 2 && plain(best.name).includes(wanted);
  return isPart || best.distance <= Math.max(1, wanted.length / 3) ? best.name : undefined;
}

/** `checkpoint_id` and `checkpointID` are `checkpointId`. */
const plain = (name: string): string =>
  name
    .slice(0, 64)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "");

/** The number of characters to add, remove or change. */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [row, character] of [...a].entries()) {
    const current = [row + 1];
    for (const [column, other] of [...b].entries()) {
      const changed = (above[column] ?? 0) + (character === other ? 0 : 1);
      current.push(Math.min(changed, (above[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    above = current;
  }
  return above.at(-1) ?? 0;
}
