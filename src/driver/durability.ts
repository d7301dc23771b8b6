import { StateError } from "../errors.ts";
import type { Driver } from "./driver.ts";

/** What a returned append survives. */
export type Durability =
  /** Gone with the process. */
  | "memory"
  /** Survives kill -9 of the process, not a power cut. */
  | "os"
  /** On stable storage before the append returned. */
  | "fsync"
  /** On stable storage of more than one machine before the append returned. */
  | "replicated";

/** From the weakest to the strongest. */
const CLASSES: readonly Durability[] = ["memory", "os", "fsync", "replicated"];

export function assertDurability(wanted: Durability | undefined): void {
  if (wanted === undefined || CLASSES.includes(wanted)) return;
  const classes = CLASSES.map((name) => JSON.stringify(name)).join(", ");
  throw new StateError("INVALID_ARGUMENT", `durability must be one of ${classes}, not ${JSON.stringify(wanted)}`);
}

/** A warning and not an error: the storage works, and its owner decides whether less durability is enough. */
export function warnOfWeaker(
  {
    name,
    capabilities: { durability },
  }: Pick<Driver, "name"> & { readonly capabilities: { readonly durability: Durability } },
  wanted: Durability | undefined,
): void {
  if (wanted === undefined || CLASSES.indexOf(durability) >= CLASSES.indexOf(wanted)) return;
  process.emitWarning(
    `${name}: durability "${wanted}" is asked for, but the storage as it is configured gives "${durability}": ${LOSS[durability]}`,
    { type: "HoldfastWarning", code: "HOLDFAST_DURABILITY" },
  );
}

const LOSS: Readonly<Record<Durability, string>> = {
  memory: "what was saved may be gone when its process ends",
  os: "what was saved last may be gone after a power cut",
  fsync: "what was saved may be gone with the one machine that has it",
  replicated: "nothing acknowledged is lost with one machine",
};
