import { guardedResult } from "../guards.ts";
import { runAfter } from "../hooks.ts";
import type { RunContext } from "../run/run-context.ts";
import type { LedgerCall } from "./ledger.ts";
import type { Tool } from "./tool.ts";
import { type Outcome, settle } from "./tool-result.ts";

/** Makes an outcome durable: on its own, without waiting for the other calls of the same turn, and while the run goes on. */
export async function close(
  context: RunContext,
  { call, execution }: LedgerCall,
  given: Outcome,
  tool: Tool | undefined = context.parts.tools.get(call.name),
): Promise<void> {
  const { parts, session, emit } = context;
  const outcome = await guardedResult(context, call, given);
  const options = { now: parts.now(), maxResultChars: parts.maxResultChars };
  session.change((state) => settle(state, call, execution, outcome, options));
  const hasEffects = tool?.effect !== "pure";
  if (hasEffects || parts.saveEvery === 1) session.saveBeside({ settles: hasEffects });
  const ended = { type: "tool-end", toolCallId: call.id, toolName: call.name } as const;
  const { status, returned, approvalId } = outcome;
  if (status !== "succeeded") emit({ ...ended, status, ...(approvalId !== undefined && { approvalId }) });
  else emit({ ...ended, status, ...(returned !== undefined && { result: returned }) });
  const message = session.state.messages.findLast((entry) => entry.role === "tool" && entry.toolCallId === call.id);
  if (message !== undefined) emit({ type: "message", message });
  await runAfter(context, "afterTool", { call, execution: { ...execution, status: outcome.status } });
}
