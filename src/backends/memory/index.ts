import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { MemoryLog } from "./log.ts";

export { MemoryLog } from "./log.ts";

export type MemoryCheckpointerOptions = CheckpointerOptions;

/** Keeps threads in this process and nowhere else: for tests and for trying things out. */
export class MemoryCheckpointer extends Checkpointer {
  constructor(options: MemoryCheckpointerOptions = {}) {
    super(new MemoryLog(options), options);
  }
}
