import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";

/** A deliberate fault and the cases that must notice it. */
export interface DriverFault {
  readonly fault: string;
  /** The faulty driver, on top of a correct one. */
  readonly driver: (inner: ThreadLog) => ThreadLog & { outage?(): Promise<() => Promise<void>> };
  /** Names of cases, each of which must fail. */
  readonly caughtBy: readonly string[];
}
