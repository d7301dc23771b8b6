import type { BaseStore } from "../store/base-store.ts";
import { type ConformanceOptions, registerSuite } from "./register-suite.ts";
import { storeSuite } from "./store-cases/suite.ts";

/** Registers every promise of a store as a test. */
export const testStore = (options: ConformanceOptions<BaseStore>): void => registerSuite(storeSuite, options);
