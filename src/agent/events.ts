import type { FinishReason, ModelReport, ModelUsage } from "../models/model.ts";
import type { AgentState } from "../state/agent-state.ts";
import type { ToolExecution } from "../state/fields.ts";
import type { Message } from "../state/message.ts";
import type { PendingCall } from "../state/pending.ts";
import type { NamedTool } from "./tool-call/tool.ts";
import type { READ_RESULT } from "./tool-call/tool-result.ts";

export type StopReason =
  /** The model gave an answer and asked for nothing more. */
  | "complete"
  /** A tool marked `terminal` succeeded. */
  | "terminal-tool"
  /** Something must come from outside first, an answer or an outcome: see `pending`. */
  | "pending"
  | "max-iterations"
  | "token-budget"
  | "time-budget"
  /** The same calls gave the same results, again and again. */
  | "tool-loop"
  /** `stopWhen` said so. */
  | "stopped"
  /** By the AbortSignal. */
  | "cancelled"
  /** By `agent.drain()`. */
  | "drained"
  /** The model's stream ended before it finished. */
  | "incomplete"
  /** The answer reached the model's length limit and breaks off there. */
  | "length"
  /** The provider cut the answer off. */
  | "content-filter"
  /** The model does not want to answer; `text` may say why. */
  | "refusal"
  /** The model reported a failure without saying why. */
  | "error"
  /** The model finished without saying anything. */
  | "empty"
  /** A guard refused the prompt or the answer; `text` is its reason. */
  | "guarded"
  /** The answer never fitted `outputSchema`. */
  | "invalid-output";

/** A run that is complete has an output, where one was asked for. */
export type RunResult<Output = unknown> = RunFacts &
  (
    | { readonly stopReason: "complete"; readonly output: Output }
    | { readonly stopReason: Exclude<StopReason, "complete">; readonly output: Output | undefined }
  );

interface RunFacts {
  /** The last words of the model. */
  readonly text: string;
  /** The same, under another name. */
  readonly message: string;
  readonly state: AgentState;
  /** Of a run that a limit ended: which one, in words. */
  readonly stopDetail: string | undefined;
  /** Of this run; the thread's sums are in `state.totals`. */
  readonly usage: ModelUsage;
  /** Of this run, in the money of `prices`; `undefined` without a table, or where it lacks a model that answered. */
  readonly cost: number | undefined;
  readonly iterations: number;
  /** The checkpoint of the last save; `undefined` for a run without a thread. */
  readonly checkpointId: string | undefined;
  /** What the thread waits for: people's answers, outcomes from outside, and word of calls in doubt. */
  readonly pending: readonly PendingCall[];
}

/** A guard put something else in the place of what it was shown, or refused it. */
export interface GuardedEvent {
  readonly type: "guarded";
  readonly what: "prompt" | "answer" | "call" | "result";
  readonly verdict: "replaced" | "refused";
  readonly reason?: string;
  readonly toolCallId?: string;
}

/** A call of one of these tools is begun, with arguments that fit. */
export type ToolStartEvent<Tools extends NamedTool = NamedTool> =
  Tools extends NamedTool<infer Name, infer Input>
    ? {
        readonly type: "tool-start";
        readonly toolCallId: string;
        readonly toolName: Name;
        readonly arguments: Input;
        readonly attempt: number;
      }
    : never;

/** A call has ended. Only a tool that the agent has can succeed; a model may ask for others. */
export type ToolEndEvent<Tools extends NamedTool = NamedTool> =
  | ToolSuccess<Tools>
  | {
      readonly type: "tool-end";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly status: Exclude<ToolExecution["status"], "succeeded">;
      readonly arguments: unknown;
      /** The request for approval that a person refused, where that is why the call was not made. */
      readonly approvalId?: string;
    };

type ToolSuccess<Tools extends NamedTool> =
  Tools extends NamedTool<infer Name, infer _, infer Result>
    ? {
        readonly type: "tool-end";
        readonly toolCallId: string;
        readonly toolName: Name;
        readonly status: "succeeded";
        readonly arguments: unknown;
        /** What the tool returned, if it did so in this run and no guard changed it. The conversation holds it as text. */
        readonly result?: Result;
      }
    : never;

/** What every agent offers besides its own tools. */
type BuiltIn = NamedTool<typeof READ_RESULT, { readonly name: string; readonly from: number }, string>;

export type RunEvent<Tools extends NamedTool = NamedTool> =
  | ToolStartEvent<Tools | BuiltIn>
  | ToolEndEvent<Tools | BuiltIn>
  | {
      readonly type: "run-start";
      readonly runId: string;
      readonly threadId: string | undefined;
      /** The thread was there before. */
      readonly continued: boolean;
    }
  /**
   * Another run has the thread; this one begins when that one has ended, or is dead. `until`: when it counts as dead
   * unless it renews its lease.
   */
  | { readonly type: "waiting"; readonly holder: string; readonly until: Date | undefined }
  /** `turn` counts what users said in the thread: the same for every run of one turn. */
  | { readonly type: "iteration-start"; readonly iteration: number; readonly turn: number }
  | { readonly type: "model-delta"; readonly kind: "text" | "reasoning"; readonly text: string }
  /** `finishReason` is the model's own, of a message of the model's. */
  | { readonly type: "message"; readonly message: Message; readonly finishReason?: FinishReason }
  /** The message was sent before: what its turn has brought so far. `denied` are the calls that a person refused. */
  | {
      readonly type: "turn-so-far";
      readonly turn: number;
      readonly messages: readonly Message[];
      readonly denied: readonly string[];
    }
  /** A piece of the arguments of a call that the model is still writing. */
  | {
      readonly type: "tool-input-delta";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly text: string;
    }
  /** What a tool says of its progress. Not stored. */
  | {
      readonly type: "tool-progress";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly progress: unknown;
    }
  /** The attempt failed, and another one follows. */
  | {
      readonly type: "tool-retry";
      readonly toolCallId: string;
      readonly toolName: string;
      readonly attempt: number;
      readonly retryAt: number;
      readonly error: string;
    }
  /** A call waits for an answer or an outcome from outside. */
  | { readonly type: "pending"; readonly call: PendingCall }
  | { readonly type: "checkpoint-saved"; readonly checkpointId: string }
  /** What a sub-agent does; durable in its own thread. */
  | { readonly type: "sub-agent"; readonly toolCallId: string; readonly toolName: string; readonly event: RunEvent }
  /** Something that was sent to the thread could not be taken in: a guard refused it, or it does not fit what waits. */
  | { readonly type: "signal-refused"; readonly id: string; readonly error: unknown }
  | GuardedEvent
  | ModelReport
  /** Something beside the run failed (a hook, a memory, a metric). Nothing of the run was lost. */
  | { readonly type: "warning"; readonly where: string; readonly error: unknown }
  | { readonly type: "run-end"; readonly stopReason: StopReason; readonly stopDetail?: string };
