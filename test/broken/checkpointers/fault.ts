import type { BaseCheckpointer } from "../../../src/checkpoint/base-checkpointer.ts";
import type { CheckpointerOptions } from "../../../src/checkpoint/context.ts";
import type { ThreadLog } from "../../../src/checkpoint/log/thread-log.ts";
import type { Fault } from "../fault.ts";

/** A deliberate fault of the class users hold, and the cases that must notice it. */
export interface CheckpointerFault extends Fault {
  readonly checkpointer: (log: ThreadLog, options: CheckpointerOptions) => BaseCheckpointer;
}
