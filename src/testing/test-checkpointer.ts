import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { checkpointerSuite } from "./checkpointer-cases/suite.ts";
import { type ConformanceOptions, registerSuite } from "./register-suite.ts";

/** Registers everything that users of a checkpointer may rely on as a test. */
export const testCheckpointer = (options: ConformanceOptions<BaseCheckpointer>): void =>
  registerSuite(checkpointerSuite, options);
