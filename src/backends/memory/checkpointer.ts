import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters, parseLocalUrl } from "../../driver/url.ts";
import { MemoryLog } from "./log.ts";

export type MemoryCheckpointerOptions = CheckpointerOptions;

/** Keeps threads in this process only: for tests and experiments. */
export class MemoryCheckpointer extends Checkpointer {
  constructor(options: MemoryCheckpointerOptions = {}) {
    assertOptions("MemoryCheckpointer", options, {});
    super(new MemoryLog(options), options);
  }
}

/** `memory:` */
export function openUrl(url: string, options: CheckpointerOptions = {}): Checkpointer {
  assertParameters(url, parseLocalUrl(url).parameters, []);
  return new MemoryCheckpointer(options);
}
