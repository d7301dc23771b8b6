/** Where a value lies. Linked, so that no string is built unless something is refused. */
export interface Place {
  readonly parent: Place | undefined;
  readonly step: string | number;
}

/** `state.messages[3].metadata.fn`, cut short where it is very deep. */
export const readablePath = (place: Place): string => render(isDeep(place) ? shorten(place) : place);

/**
 * The path of this very `part` below `root`, or `undefined` if it is not there.
 * Walks everything, so it is for error messages only.
 */
export function pathTo(part: unknown, root: unknown, name: string): string | undefined {
  const place = find(part, root, { parent: undefined, step: name });
  return place && readablePath(place);
}

function find(part: unknown, value: unknown, place: Place): Place | undefined {
  if (Object.is(part, value)) return place;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return undefined;
  for (const [step, item] of stepsInto(value)) {
    const found = find(part, item, { parent: place, step });
    if (found !== undefined) return found;
  }
  return undefined;
}

function stepsInto(value: object): readonly (readonly [step: string | number, item: unknown])[] {
  if (Array.isArray(value)) return value.map((item, index) => [index, item] as const);
  if (value instanceof Set) return [...value].map((item, index) => [`(item ${index})`, item] as const);
  if (!(value instanceof Map)) return Object.entries(value);
  const parts = [...value].map(([key, item], index) => [
    [`(key ${index})`, key] as const,
    [`(value ${index})`, item] as const,
  ]);
  return parts.flat();
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const MAX_SHOWN_STEPS = 12;

function isDeep(place: Place): boolean {
  let steps = 0;
  for (let at: Place | undefined = place; at !== undefined; at = at.parent) steps++;
  return steps > MAX_SHOWN_STEPS;
}

/** The first steps of a very deep place: enough to find it, short enough to read. */
function shorten(place: Place): Place {
  const steps: Place[] = [];
  for (let at: Place | undefined = place; at !== undefined; at = at.parent) steps.unshift(at);
  const last = steps[MAX_SHOWN_STEPS - 1] ?? place;
  return { parent: last, step: "…" };
}

function render(place: Place): string {
  if (place.parent === undefined) return String(place.step);
  const before = render(place.parent);
  if (typeof place.step === "number") return `${before}[${place.step}]`;
  if (place.step === "…" || place.step.startsWith("(")) return `${before}${place.step}`;
  return IDENTIFIER.test(place.step) ? `${before}.${place.step}` : `${before}[${JSON.stringify(place.step)}]`;
}
