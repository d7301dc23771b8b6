import { answerPending } from "../../agent/tool-call/answering.ts";
import { removeThreadIf } from "../../checkpoint/history/removing-threads.ts";
import { placeOfTail } from "../../checkpoint/log/driver-rules.ts";
import type { KnownPlace } from "../../checkpoint/log/thread-log.ts";
import { Thread } from "../../checkpoint/thread/thread.ts";
import { newId } from "../../driver/ids.ts";
import { StateError } from "../../errors.ts";
import { Refusal } from "../../server/request/refusal.ts";
import type { AgentState } from "../../state/agent-state.ts";
import type { StudioRequest } from "../request.ts";
import type { DeletePlan, WrittenAnswer } from "../service-api.ts";
import type { StudioContext } from "../studio-context.ts";
import { edited } from "./editing.ts";

/** Tells in the log who made this save. */
const writeId = (): string => `studio-${newId()}`;

const named = (threadId: string): string => JSON.stringify(threadId);

function openCallsIn(request: StudioRequest): "settle" | "keep" {
  const given = request.maybe("openCalls") ?? "settle";
  if (given === "settle" || given === "keep") return given;
  throw new Refusal("INVALID_ARGUMENT", 'openCalls must be "settle" or "keep"');
}

export async function fork(studio: StudioContext, request: StudioRequest): Promise<WrittenAnswer> {
  const target = request.given("target");
  const at = request.maybe("at");
  const openCalls = openCallsIn(request);
  const checkpointId = await studio.checkpointer.fork(request.thread, target, {
    openCalls,
    ...(at !== undefined && { at }),
  });
  studio.wrote(`forked ${named(request.thread)} as ${named(target)}`);
  return { threadId: target, checkpointId };
}

/**
 * A fork, then one more save with the change in it: so the fork's first two
 * checkpoints differ by exactly the edit. Calls that were open are settled in the
 * fork, because an edit may take away what they rest on. A change that cannot be
 * stored is refused before anything is written.
 */
export async function edit(studio: StudioContext, request: StudioRequest): Promise<WrittenAnswer> {
  const { checkpointer, states } = studio;
  const target = request.given("target");
  const change = { path: request.pathGiven("path"), value: request.value("value"), isLast: request.flag("dropAfter") };
  const at = request.maybe("at");
  const place = await states.at(request.thread, at);
  edited(place.state, change);
  const forkAt = place.entry.checkpointId ?? "";
  await checkpointer.fork(request.thread, target, { at: forkAt, openCalls: "settle" });
  const state = await checkpointer.load(target);
  if (state === undefined) throw gone(target);
  const checkpointId = await saveKeepingMetadata(studio, edited(state, change), target);
  studio.wrote(`forked ${named(request.thread)} as ${named(target)} with an edit`);
  return { threadId: target, checkpointId };
}

export async function answer(studio: StudioContext, request: StudioRequest): Promise<WrittenAnswer> {
  const { thread: threadId } = request;
  const id = request.given("id");
  const given = request.flag("declined")
    ? { decline: request.maybe("reason") ?? (true as const) }
    : { response: request.value("value") };
  await answerPending(studio.checkpointer, threadId, { id, ...given });
  studio.wrote(`answered ${JSON.stringify(id)} of ${named(threadId)}`);
  return { threadId };
}

/** On the condition that the thread is as it was read, with the head's metadata: a query must still find it. */
async function saveKeepingMetadata(
  { checkpointer }: StudioContext,
  state: AgentState,
  threadId: string,
): Promise<string> {
  const metadata = await checkpointer.getMetadata(threadId);
  return checkpointer.save(state, threadId, { writeId: writeId(), ...(metadata !== undefined && { metadata }) });
}

export async function settle(studio: StudioContext, request: StudioRequest): Promise<WrittenAnswer> {
  const outcome = request.given("outcome");
  if (outcome !== "done" && outcome !== "not-done") {
    throw new Refusal("INVALID_ARGUMENT", 'outcome must be "done" or "not-done"');
  }
  const [reason, result] = [request.maybe("reason"), request.maybe("result")];
  const toolCallId = request.given("toolCallId");
  await studio.checkpointer.settleCall(request.thread, toolCallId, {
    outcome,
    by: request.given("by"),
    ...(reason !== undefined && { reason }),
    ...(result !== undefined && { result }),
  });
  studio.wrote(`settled ${JSON.stringify(toolCallId)} of ${named(request.thread)} as ${outcome}`);
  return { threadId: request.thread };
}

export async function breakLease(studio: StudioContext, request: StudioRequest): Promise<WrittenAnswer> {
  const isBroken = await studio.checkpointer.breakLease(request.thread, { ifToken: request.given("ifToken") });
  if (!isBroken) throw new StateError("CONFLICT", "this thread is not leased any more");
  studio.wrote(`took ${named(request.thread)} from its holder`);
  return { threadId: request.thread };
}

interface DeletedPlace extends KnownPlace {
  readonly threadId: string;
}

export async function planDelete(studio: StudioContext, { thread: threadId }: StudioRequest): Promise<DeletePlan> {
  const { checkpointer, context, plans, index } = studio;
  const tail = await context.call({ operation: "delete", threadId }, (log) => log.tail(threadId));
  const stats = await checkpointer.stats(threadId);
  if (tail === undefined || stats === undefined) throw gone(threadId);
  const place: DeletedPlace = { threadId, ...placeOfTail(tail) };
  const { planId } = plans.add("delete", threadId, place);
  const forks: string[] = [];
  for (const row of index.rows)
    if (row.forkedFrom?.threadId === threadId && forks.length < 20) forks.push(row.threadId);
  const { checkpoints, messages, bytes } = stats;
  return { planId, threadId, checkpoints, messages, bytes, forks };
}

/** What was shown and nothing newer: a thread that moved meanwhile is left alone. */
export async function deleteThread(studio: StudioContext, request: StudioRequest): Promise<WrittenAnswer> {
  const { context, plans, index } = studio;
  const threadId = request.thread;
  const place = plans.take<DeletedPlace>("delete", request.given("planId"), request.given("typed"));
  if (place.threadId !== threadId) throw new Refusal("INVALID_ARGUMENT", "the plan is of another thread");
  const removed = await removeThreadIf(new Thread(context, threadId, "delete"), place);
  if (removed === "absent") throw gone(threadId);
  if (removed === "moved") {
    throw new StateError("CONFLICT", "the thread moved on after you looked at it; nothing was deleted", { threadId });
  }
  index.renew(threadId, undefined);
  studio.wrote(`deleted ${named(threadId)}`);
  return { threadId };
}

const gone = (threadId: string): StateError =>
  new StateError("NOT_FOUND", `there is no thread ${named(threadId)}`, { threadId });
