import { assertKnownOptions, described, type OptionKinds } from "../../internal/known-options.ts";
import { SHARED_OPTIONS } from "../assert-run-options.ts";
import type { CompleteOptions } from "./completing.ts";

const { subject: _, ...SHARED } = SHARED_OPTIONS;
const OPTIONS: OptionKinds<CompleteOptions> = {
  ...SHARED,
  toolCallId: "string",
  result: "anything",
  error: "anything",
};

export function assertCompleteOptions(options: CompleteOptions): void {
  const usage = "Write agent.complete({ threadId, toolCallId, result })";
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`complete() takes one object, not ${described(options)}. ${usage}`);
  }
  assertKnownOptions("complete()", options, OPTIONS);
  for (const name of ["threadId", "toolCallId"] as const) {
    if (options[name] === undefined) throw new TypeError(`complete() needs ${name}. ${usage}`);
  }
  if ("result" in options === "error" in options) {
    throw new TypeError(`complete() needs a result or an error, one of the two. ${usage}`);
  }
}
