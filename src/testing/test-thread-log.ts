import type { ThreadLog } from "../checkpoint/log/thread-log.ts";
import { type ConformanceOptions, registerSuite } from "./register-suite.ts";
import { threadLogSuite } from "./thread-log-cases/suite.ts";

/** Registers every duty of a driver as a test. */
export const testThreadLog = (options: ConformanceOptions<ThreadLog>): void => registerSuite(threadLogSuite, options);
