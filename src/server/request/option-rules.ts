import { StateError } from "../../errors.ts";
import { described } from "../../internal/known-options.ts";

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
      throw invalid(`${path}${name} must be ${kind === "object" ? "an object" : `a ${kind}`}, not ${described(value)}`);
    }
  }
}

const MOST = Number.MAX_SAFE_INTEGER;
/** A timer that is set for longer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function assertPort(port: number): void {
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return;
  throw invalid("port must be a whole number from 0 (any that is free) to 65535");
}

/** A limit that is no number limits nothing: every comparison with it is false. */
export function assertLimits(given: object, within = ""): void {
  for (const [name, value] of Object.entries(given)) {
    if (typeof value === "object" && value !== null && ["rateLimit", "timeouts"].includes(name)) {
      assertLimits(value, `${name}.`);
    }
    if (typeof value !== "number") continue;
    if (name === "port") assertPort(value);
    const most = name.endsWith("Ms") ? LONGEST_TIMER_MS : MOST;
    if (name === "port" || (value > 0 && value <= most)) continue;
    throw invalid(`${within}${name} must be a number greater than 0 and at most ${most}`);
  }
}
