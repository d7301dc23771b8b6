import type { AnySchema } from "../models/schema.ts";
import type { Subjects } from "../state/people/subjects.ts";
import type { SessionPort } from "./ports.ts";
import type { RunLimits } from "./run/limits.ts";
import type { WhenBusy } from "./run/only-writer.ts";

export interface RunOptions<Runtime = unknown, Schema extends AnySchema = AnySchema> extends RunLimits {
  /** The conversation to continue. Without it nothing is saved. */
  readonly threadId?: string;
  /** Aborting it ends the run as `"cancelled"`. */
  readonly signal?: AbortSignal;
  /**
   * Merged into the thread's metadata and saved with each checkpoint, so that `queryByMetadata` finds the thread. Tools
   * see the whole as `context.metadata`.
   */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** For the tools, as `context.runtime`: connections, clients, the user who is signed in. Never stored. */
  readonly runtime?: Runtime;
  /** Who the prompt is about, for `eraseUser`: the answers and results of the run are about the same people. */
  readonly subject?: Subjects;
  /** The task of a session that this run is: `session.task("report_done")`. Tools see its working state, and an answer becomes a labelled checkpoint. */
  readonly session?: SessionPort;
  /**
   * Questions that wait are declined, with this reason if it is a text, and the
   * calls that asked them settled as denied. @default false: a prompt is refused as PENDING
   */
  readonly declinePending?: boolean | string;
  /**
   * A checkpoint of the thread: the thread goes back to it before the prompt is added. What came after it stays in
   * the history, and what tools did since is in the ledger. A message whose id is already there is not added a
   * second time.
   */
  readonly backTo?: string;
  /** While another run has the thread: wait for its end, be refused with `CONFLICT`, or send the prompt to that run. */
  readonly whenBusy?: WhenBusy;
  /** In place of the agent's: the answer of this run must be JSON that matches it. Not stored: a run that continues needs it again. */
  readonly outputSchema?: Schema;
  /** The prompt's id: the same id twice in a thread is answered once, and both callers get that answer. */
  readonly messageId?: string;
}

export interface AnswerOptions<Runtime = unknown, Schema extends AnySchema = AnySchema>
  extends Omit<RunOptions<Runtime, Schema>, "declinePending" | "messageId" | "backTo"> {
  readonly threadId: string;
  readonly id: string;
  /** What fits the question; for a request for approval an `Approval`. */
  readonly response?: unknown;
  /**
   * In place of a response: the question will not be answered, with this reason if
   * it is a text. The call is settled as denied.
   */
  readonly decline?: boolean | string;
}

/** What tools need of the runtime context must be given. */
export type Needed<Options, Runtime> = unknown extends Runtime ? Options : Options & { readonly runtime: Runtime };
export type RunArguments<Runtime> = unknown extends Runtime
  ? [options?: RunOptions<Runtime>]
  : [options: Needed<RunOptions<Runtime>, Runtime>];

/** Options of a run that has a schema of its own: what it gives back follows from that. */
export type Shaped<Options extends { readonly outputSchema?: AnySchema }> = Options & {
  readonly outputSchema: NonNullable<Options["outputSchema"]>;
};
