import { StateError } from "../errors.ts";

export const invalid = (message: string): StateError => new StateError("INVALID_ARGUMENT", `serve(): ${message}`);

/** Refuses a name that does not exist, and a value of another type. `within` says in which option they stand. */
export function assertKnown(given: object, kinds: Readonly<Record<string, string>>, within = ""): void {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw within === "" ? new TypeError("the service takes an options object") : invalid(`${within} must be an object`);
  }
  const path = within === "" ? "" : `${within}.`;
  for (const [name, value] of Object.entries(given)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind === undefined) {
      throw invalid(`there is no option ${JSON.stringify(path + name)}; there are ${Object.keys(kinds).join(", ")}`);
    }
    const isOff = path + name === "rateLimit" && value === false;
    if (value === undefined || isOff) continue;
    if (typeof value !== kind || value === null) {
      throw invalid(`${path}${name} must be a ${kind}, not ${value === null ? "null" : `a ${typeof value}`}`);
    }
  }
}

const MOST = Number.MAX_SAFE_INTEGER;
/** A timer that is set for longer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A limit that is no number limits nothing: every comparison with it is false. */
export function assertLimits(given: object, within = ""): void {
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === "object" && value !== null && ["rateLimit", "timeouts"].includes(name)) {
      assertLimits(value, `${name}.`);
    }
    const [least, most] = [name === "port" ? 0 : Number.MIN_VALUE, name.endsWith("Ms") ? LONGEST_TIMER_MS : MOST];
    if (typeof value !== "number" || (value >= least && value <= most)) continue;
    const from = name === "port" ? "from 0" : "greater than 0";
    throw invalid(`${within}${name} must be a number ${from} and at most ${most}`);
  }
}
