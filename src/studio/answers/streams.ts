import { everyThread } from "../../checkpoint/find/finding.ts";
import { Warnings } from "../../driver/warnings.ts";
import { StateError } from "../../errors.ts";
import type { StudioRequest } from "../request.ts";
import type { CaseLine, EventLine, ProofLine } from "../service-api.ts";
import type { StudioContext } from "../studio-context.ts";
import { cutAt, LINE_SHOWN } from "./cut.ts";

/** Every checkpoint from now on, one per line, until the client disconnects. */
export async function* eventLines(
  { checkpointer }: StudioContext,
  { thread, signal }: StudioRequest,
): AsyncGenerator<EventLine> {
  yield { type: "hello" };
  for await (const { checkpointId, messageCount = 0, createdAt } of checkpointer.watch(thread, {
    signal,
    pollMs: 1000,
  })) {
    yield { type: "saved", checkpointId, messages: messageCount, at: createdAt?.getTime() ?? 0 };
  }
}

const FINDINGS_SHOWN = 200;

/** Proves every record of every thread, and says what it finds as it goes. */
export async function* proofLines(studio: StudioContext, { signal }: StudioRequest): AsyncGenerator<ProofLine> {
  let [threads, records, findings] = [0, 0, 0];
  const warnings = new Warnings();
  for await (const { threadId } of everyThread(studio.context, "verify", "", warnings)) {
    if (signal.aborted) return;
    const verdict = await warnings.skipping(threadId, () => studio.checkpointer.verify(threadId));
    if (verdict === undefined) continue;
    threads++;
    records += verdict.records;
    for (const { seq, code, message } of verdict.faults) {
      if (findings++ >= FINDINGS_SHOWN) continue;
      yield { type: "finding", threadId, seq, code, message: cutAt(message, LINE_SHOWN), lost: verdict.lost.length };
    }
    yield { type: "progress", threads, records };
  }
  for (const { threadId = "", code, message } of warnings.list) {
    findings++;
    yield { type: "finding", threadId, code, message: cutAt(message, LINE_SHOWN), lost: 0 };
  }
  yield { type: "end", threads, records, findings };
}

/** Proves on the store itself that it does what an agent relies on, in threads that are removed again. */
export async function* caseLines(studio: StudioContext, { signal }: StudioRequest): AsyncGenerator<CaseLine> {
  const { provesCases } = studio.options;
  if (provesCases === undefined) throw new StateError("UNSUPPORTED", "this Studio was started without the proofs");
  const ended = studio.begin();
  try {
    yield* provesCases(signal);
  } finally {
    studio.wrote("the cases of doctor were run on the store");
    ended();
  }
}
