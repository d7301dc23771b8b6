import type { Saver } from "../../saver/saver.ts";
import type { ReferenceSaver } from "./reference-saver.ts";

/** A deliberate fault of a saver, and the cases that must notice it. */
export interface SaverFault {
  readonly fault: string;
  readonly saver: (...given: ConstructorParameters<typeof ReferenceSaver>) => Saver;
  readonly caughtBy: readonly string[];
}
