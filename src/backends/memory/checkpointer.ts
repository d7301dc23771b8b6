import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { DeferredLog } from "../../checkpoint/log/deferred-log.ts";
import { assertOptions } from "../../driver/options.ts";
import { assertParameters, parseLocalUrl } from "../../driver/url.ts";
import { FACTS } from "./facts.ts";

export type MemoryCheckpointerOptions = CheckpointerOptions;

/** Keeps threads in this process only: for tests and experiments. */
export class MemoryCheckpointer extends Checkpointer {
  constructor(options: MemoryCheckpointerOptions = {}) {
    assertOptions("MemoryCheckpointer", options, {});
    super(new DeferredLog(FACTS, async () => new (await import("./log.ts")).MemoryLog(options)), options);
  }
}

/** `memory:` */
export function openUrl(url: string, options: CheckpointerOptions = {}): Checkpointer {
  assertParameters(url, parseLocalUrl(url).parameters, []);
  return new MemoryCheckpointer(options);
}
