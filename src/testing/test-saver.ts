import type { Saver } from "../saver/saver.ts";
import { type ConformanceOptions, registerSuite } from "./register-suite.ts";
import { saverSuite } from "./saver-cases/suite.ts";

/** Registers everything that a graph may rely on in a saver as a test. */
export const testSaver = (options: ConformanceOptions<Saver>): void => registerSuite(saverSuite, options);
