import type { Saver } from "../../../src/saver/saver.ts";
import type { Fault } from "../fault.ts";
import type { ReferenceSaver } from "./reference-saver.ts";

/** A deliberate fault of a saver, and the cases that must notice it. */
export interface SaverFault extends Fault {
  readonly saver: (...given: ConstructorParameters<typeof ReferenceSaver>) => Saver;
}
