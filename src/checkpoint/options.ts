import { StateError } from "../errors.ts";

type Kind = "string" | "number" | "boolean" | "object" | "function";

const SHARED: Readonly<Record<string, Kind>> = {
  stateSchema: "object",
  retry: "object",
  now: "function",
  durability: "string",
};

/** Refuses an option that does not exist: a misspelt one must not be ignored in silence. */
export function assertOptions(factory: string, options: object, own: Readonly<Record<string, Kind>>): void {
  if (typeof options !== "object" || options === null) throw new TypeError(`${factory}() takes an options object`);
  const known = { ...own, ...SHARED };
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(known, name) ? known[name] : undefined;
    if (kind === undefined) {
      const names = Object.keys(known).join(", ");
      throw new StateError("INVALID_ARGUMENT", `${factory}() has no option ${JSON.stringify(name)}; it takes ${names}`);
    }
    if (value !== undefined && typeof value !== kind) {
      throw new StateError("INVALID_ARGUMENT", `${factory}(): ${name} must be a ${kind}, not a ${typeof value}`);
    }
  }
}
