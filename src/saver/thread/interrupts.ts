import type { CheckpointContext } from "../../checkpoint/context.ts";
import type { InboxItem } from "../../checkpoint/find/inbox.ts";
import { StateError } from "../../errors.ts";
import { isPlainObject } from "../../state/values/doorway.ts";
import { writeIndex } from "../saver.ts";
import { packValue } from "../values/packing.ts";
import { plainReader, Unpacker } from "../values/unpacking.ts";
import { type Epoch, INTERRUPT, interruptsIn, type KnownWrite, RESUME } from "./epoch.ts";
import type { CheckpointPlace } from "./graph-record.ts";
import { ThreadWriter } from "./graph-threads.ts";
import { findCheckpoint, infoOf } from "./reading.ts";

/**
 * Interrupts of LangGraph's. A task that waits for a person has an `__interrupt__` among the writes of the newest
 * checkpoint; its answer is a `__resume__` of the same task, with which the task runs again from its top. So an answer
 * can lie ready before any process runs the graph, and `graph.invoke(null, config)` goes on with it. Of an interrupt in a
 * subgraph, the task in its own namespace is the one that is answered; those above it only pass the interrupt on.
 */

interface Waiting {
  readonly item: InboxItem;
  readonly place: CheckpointPlace;
  readonly write: KnownWrite;
  /** What its task was answered before. Refuses to say where that, or the question, is in a form that only the graph's process reads. */
  readonly answered: () => Promise<readonly unknown[]>;
}

/** All that waits in a graph's thread, as an inbox shows it. */
export const graphItems = async (context: CheckpointContext, threadId: string): Promise<readonly InboxItem[]> =>
  (await waitingIn(context, new ThreadWriter(context, threadId, 0), threadId)).map(({ item }) => item);

async function waitingIn(
  context: CheckpointContext,
  writer: ThreadWriter,
  threadId: string,
): Promise<readonly Waiting[]> {
  const root = await findCheckpoint(context, writer, threadId, "", undefined);
  if (root === undefined) return [];
  const newest = await writer.alone(() => writer.fresh());
  const { known, epoch } = root;
  const { metadata } = infoOf(threadId, known);
  const found: Waiting[] = [];
  for (const passed of interruptsIn(root.writes)) {
    for (const { place, write, from } of tasksBehind(passed, known, [
      epoch,
      ...(newest === undefined ? [] : [newest]),
    ])) {
      const before = from.writesOf(place).filter((each) => each.taskId === write.taskId && each.channel === RESUME);
      const [value] = await new Unpacker(from.pool, { foreign: plainReader }).values([write.text]);
      const item = itemOf(threadId, write.taskId, value, new Date(known.createdAt), metadata);
      const answered = async (): Promise<readonly unknown[]> =>
        (await new Unpacker(from.pool, {}).values([write.text, ...before.map(({ text }) => text)])).slice(1).flat();
      found.push({ item, place, write, answered });
    }
  }
  return found;
}

interface Task {
  readonly place: CheckpointPlace;
  readonly write: KnownWrite;
  readonly from: Epoch;
}

/** The tasks that asked: those of the namespaces below this one, and itself where there are none. */
function tasksBehind(passed: KnownWrite, root: CheckpointPlace, epochs: readonly Epoch[]): readonly Task[] {
  const below = new Map<string, Task[]>();
  for (const from of epochs) {
    for (const ns of new Set(from.places().map((place) => place.ns))) {
      const id = from.newestOf(ns);
      if (!isBelow(ns, passed.taskId) || id === undefined) continue;
      const place = { ns, id };
      const tasks = interruptsIn(from.writesOf(place)).map((write) => ({ place, write, from }));
      if (tasks.length > 0) below.set(ns, tasks);
      else if (from.writesOf(place).some(({ channel }) => channel === INTERRUPT)) below.set(ns, []);
    }
  }
  const asked = [...below].filter(([ns]) => ![...below.keys()].some((other) => other.startsWith(`${ns}|`)));
  if (asked.length > 0) return asked.flatMap(([, tasks]) => tasks);
  return epochs.slice(0, 1).map((from) => ({ place: { ns: root.ns, id: root.id }, write: passed, from }));
}

/** A subgraph's namespace names, level by level, the node and the task that runs it. */
const isBelow = (ns: string, taskId: string): boolean => ns.split("|")[0]?.endsWith(`:${taskId}`) === true;

function itemOf(
  threadId: string,
  taskId: string,
  interrupt: unknown,
  since: Date,
  metadata: InboxItem["metadata"],
): InboxItem {
  const { id, value, response_schema: schema } = isPlainObject(interrupt) ? interrupt : { value: interrupt };
  return {
    threadId,
    id: typeof id === "string" ? id : taskId,
    kind: "question",
    toolCallId: taskId,
    toolName: "interrupt",
    arguments: value,
    question: typeof value === "string" ? value : JSON.stringify(value ?? null),
    ...(isPlainObject(schema) && { schema }),
    since,
    metadata,
    isGraph: true,
  };
}

/** Puts an answer where the task finds it when the graph is run again. */
export async function answerGraph(
  context: CheckpointContext,
  threadId: string,
  answer: { readonly id: string; readonly response?: unknown; readonly decline?: true | string },
  dryRun: boolean,
): Promise<void> {
  const writer = new ThreadWriter(context, threadId, 0);
  const waiting = await waitingIn(context, writer, threadId);
  const found = waiting.find(({ item }) => item.id === answer.id);
  if (found === undefined) {
    const ids = waiting.map(({ item }) => item.id).join(", ");
    const which = ids === "" ? "nothing waits" : `waiting are ${ids}`;
    throw new StateError("NOT_FOUND", `nothing waits under ${JSON.stringify(answer.id)} in this thread; ${which}`, {
      threadId,
    });
  }
  if (!("response" in answer)) {
    throw new StateError(
      "INVALID_ARGUMENT",
      "an interrupt of a graph cannot be declined: its node takes a value. Answer with one by which the node knows that",
      { threadId },
    );
  }
  const { place, write } = found;
  const answered = await found.answered().catch((error: unknown) => {
    throw onlyByItsProcess(error, threadId);
  });
  if (dryRun) return;
  const packed = packValue(
    [...answered, answer.response],
    { parent: undefined, step: "response" },
    {
      redactor: context.redactor,
    },
  );
  const { taskId } = write;
  const resume = { channel: RESUME, index: writeIndex(RESUME, 0), packed };
  const check = (known: readonly KnownWrite[]): void => {
    if (interruptsIn(known).some((each) => each.taskId === taskId && each.text === write.text)) return;
    throw new StateError("CONFLICT", `${JSON.stringify(answer.id)} was answered meanwhile, or the graph went on`);
  };
  await writer.write({ kind: "writes", ...place, taskId, replaces: true, writes: [resume], check }, Promise.resolve());
}

const onlyByItsProcess = (error: unknown, threadId: string): unknown =>
  StateError.is(error, "INCOMPATIBLE")
    ? new StateError(
        "UNSUPPORTED",
        "this interrupt, or an answer before it, was written by a serialiser of the graph's own: answer with Command({ resume }) in the process that has the graph",
        { threadId, cause: error },
      )
    : error;
