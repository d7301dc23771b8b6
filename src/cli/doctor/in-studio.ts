import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { type CheckpointContext, contextOf } from "../../checkpoint/context.ts";
import type { CaseLine } from "../../studio/service-api.ts";
import type { CommandCall } from "../command.ts";
import type { World } from "../world.ts";
import { casesOf, messageOf, provenCases } from "./proving.ts";
import { assertMayRemove, Scratch, scratchPrefix } from "./scratch.ts";
import { anotherOf } from "./second-instance.ts";

/** What `doctor --quick` proves on the store itself, a line for each case; whatever ends it, what it wrote is removed. */
export async function* caseLines(
  call: Pick<CommandCall, "stores" | "open"> & { readonly world: Pick<World, "now"> },
  checkpointer: Checkpointer,
  signal: AbortSignal,
): AsyncGenerator<CaseLine> {
  const context = contextOf(checkpointer) as CheckpointContext;
  const scratch = new Scratch(scratchPrefix("doctor-", call.world.now()));
  await assertMayRemove(context, scratch);
  const cases = casesOf(undefined, true);
  let [passed, failed, notApplicable, leftBehind] = [0, 0, 0, 0];
  try {
    for await (const each of provenCases({ context, scratch, signal, another: anotherOf(call) }, cases)) {
      if (each.outcome === "passed") passed++;
      else if (each.outcome === "not applicable") notApplicable++;
      else {
        failed++;
        yield { type: "failed", area: each.area, name: each.name, message: messageOf(each) };
      }
      yield { type: "progress", done: passed + failed + notApplicable, of: cases.length };
    }
  } finally {
    await scratch.end();
    leftBehind = (await scratch.clear(context)).length;
  }
  yield { type: "end", passed, failed, notApplicable, leftBehind };
}
