import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";

/** A deliberate fault of the class users hold, and the cases that must notice it. */
export interface CheckpointerFault {
  readonly fault: string;
  readonly checkpointer: (log: ThreadLog, options: CheckpointerOptions) => BaseCheckpointer;
  readonly caughtBy: readonly string[];
}
