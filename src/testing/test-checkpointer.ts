import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { guardedCheckpointer } from "../checkpoint/guarded-checkpointer.ts";
import { checkpointerSuite } from "./checkpointer-cases/suite.ts";
import type { Fixture } from "./conformance-case.ts";
import { type ConformanceOptions, registerSuite } from "./register-suite.ts";

/** Registers everything that users of a checkpointer may rely on as a test. */
export const testCheckpointer = (options: ConformanceOptions<BaseCheckpointer>): void =>
  registerSuite(checkpointerSuite, { ...options, create: async () => guardedFixture(await options.create()) });

/** As an agent would hold it: a backend of the caller's own stands behind its guard. */
export const guardedFixture = ({
  subject,
  reopen,
  ...fixture
}: Fixture<BaseCheckpointer>): Fixture<BaseCheckpointer> => ({
  ...fixture,
  subject: guardedCheckpointer(subject, "testCheckpointer()"),
  ...(reopen !== undefined && { reopen: async () => guardedCheckpointer(await reopen(), "testCheckpointer()") }),
});
