import type { ThreadLog } from "../../../src/checkpoint/log/thread-log.ts";
import type { Fault } from "../fault.ts";

/** A deliberate fault and the cases that must notice it. */
export interface DriverFault extends Fault {
  /** The faulty driver, on top of a correct one. */
  readonly driver: (inner: ThreadLog) => ThreadLog & { outage?(): Promise<() => Promise<void>> };
}
