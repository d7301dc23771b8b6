import { type JsonPart, meet, type Path, partsThatDiffer, takenFromList, valueAt, withParts } from "./json-parts.ts";

/** A text in which parts are replaced, and whose keys those parts are sealed with. */
export interface Parted {
  readonly erased: string;
  readonly parts: readonly PersonalPart[];
}

/** Without a path, the value is the whole text. */
export interface PersonalPart extends Omit<JsonPart, "path"> {
  readonly path: Path | null;
  readonly keys: readonly string[];
}

/** The text with these parts in it. */
export function restored(erased: string, parts: readonly Omit<PersonalPart, "keys">[]): string {
  const whole = parts.find(({ path }) => path === null);
  if (whole !== undefined) return String(whole.value);
  if (parts.length === 0) return erased;
  return JSON.stringify(withParts(JSON.parse(erased), parts as readonly JsonPart[]));
}

/** Then it is neither taken apart nor put together again. */
export const isMostOfIt = (left: string, whole: number): boolean => left.length * 2 <= whole;

/** Removes what the sweep for each of the keys replaces. */
export function parted(whole: string, keys: readonly string[], sweep: (key: string, text: string) => string): Parted {
  const swept = new Map(keys.map((key) => [key, sweep(key, whole)]));
  const touched = keys.filter((key) => swept.get(key) !== whole);
  const [only] = touched;
  if (only === undefined) return { erased: whole, parts: [] };
  const left = swept.get(only) ?? whole;
  if (touched.length === 1 && isMostOfIt(left, whole.length)) {
    return { erased: left, parts: [{ path: null, value: whole, keys: touched }] };
  }
  const tree: unknown = JSON.parse(whole);
  const trees = new Map(touched.map((key): [string, unknown] => [key, JSON.parse(swept.get(key) ?? whole)]));
  const each = new Map(touched.map((key) => [key, partsThatDiffer(tree, trees.get(key))]));
  const [first, ...others] = touched.filter((key) => each.get(key)?.length !== 0);
  if (first === undefined) return { erased: whole, parts: [] };
  const concerned = [first, ...others];
  const erased = others.reduce((text, key) => sweep(key, text), swept.get(first) ?? whole);
  const remains: unknown = JSON.parse(erased);
  const parts = partsThatDiffer(tree, remains).flatMap((part): readonly PersonalPart[] => {
    const own = concerned.filter((key) => each.get(key)?.some(({ path }) => meet(path, part.path)));
    if (own.length > 1) return ofEachAlone(part, own, remains, trees) ?? [{ ...part, keys: own }];
    // What only several of them together take out is about all of them.
    return [{ ...part, keys: own.length > 0 ? own : concerned }];
  });
  if (restored(erased, parts) === whole) return { erased, parts };
  // It does not serialize to the same text: it is kept unchanged, as one part.
  return { erased, parts: [{ path: null, value: whole, keys: concerned }] };
}

/** A list of people that they are taken out of: who else is in it is not about them. `undefined` for anything else. */
function ofEachAlone(
  part: JsonPart,
  keys: readonly string[],
  remains: unknown,
  trees: ReadonlyMap<string, unknown>,
): readonly PersonalPart[] | undefined {
  const taken = takenFromList(part, valueAt(remains, part.path));
  if (taken === undefined) return undefined;
  const without = keys.map((key) => ({ key, left: new Set(valueAt(trees.get(key), part.path) as readonly unknown[]) }));
  const items = taken.map((item) => ({
    ...item,
    keys: without.flatMap(({ key, left }) => (left.has(item.value) ? [] : [key])),
  }));
  return items.every((item) => item.keys.length > 0) ? items : undefined;
}
