import { type BaseCheckpointer, uncheckedHead } from "../checkpoint/base-checkpointer.ts";
import { loadState } from "../checkpoint/thread/loaded-state.ts";
import { assertSessionId, assertUserId, MAX_ID_BYTES } from "../driver/ids.ts";
import { invalid, optionsOf } from "../driver/options.ts";
import { StateError } from "../errors.ts";
import { AgentState } from "../state/agent-state.ts";
import { isPlainObject } from "../state/values/doorway.ts";

/** What stands before a session's id, so that a session is never a conversation with the same id. */
const SESSION_PREFIX = "session:";
/** In the metadata of a session's checkpoints: the label, and the run that made it. */
const SESSION_KEY = "holdfast.session";

export interface CheckpointOptions {
  /** Which working state becomes durable; keys that are not there are left out. @default all of it */
  readonly includeKeys?: readonly string[];
}

/** A checkpoint of a session, without what is in it. */
export interface SessionCheckpoint {
  readonly id: string;
  readonly label: string;
  readonly createdAt: Date | undefined;
}

/** What a run needs of a session: `agent.run(prompt, { session: session.task("report_done") })`. */
export interface SessionTask {
  getWorking<Value = unknown>(key: string, otherwise?: Value): Value | undefined;
  setWorking(key: string, value: unknown): void;
  /** Whose session it is: what the run says is about this person, where it does not name another. */
  readonly subject?: string | undefined;
  /** Called when the run came to its end with an answer. */
  finished(run: FinishedRun): Promise<void>;
}

export interface FinishedRun {
  readonly threadId: string | undefined;
  readonly checkpointId: string | undefined;
  readonly stopReason: string;
}

export interface CoreSessionOptions {
  readonly sessionId: string;
  readonly userId: string | undefined;
  /** Opened at the first use. */
  readonly checkpointer: () => Promise<BaseCheckpointer>;
}

/** A session that is handed its checkpointer; `AgentSession` finds one by itself. */
export class CoreAgentSession {
  readonly sessionId: string;
  /** Whose session it is: what its checkpoints hold is held to be about this person. */
  readonly userId: string | undefined;
  readonly #checkpointer: () => Promise<BaseCheckpointer>;
  /** Nothing but `checkpoint` reads it as a whole, so it reaches no storage, no log and no JSON of a session. */
  readonly #working = new Map<string, unknown>();
  #isClosed = false;
  /** The thread was seen to be a session's, or not to be there yet. */
  #isSession = false;

  constructor({ sessionId, userId, checkpointer }: CoreSessionOptions) {
    assertSessionId(sessionId, MAX_ID_BYTES - SESSION_PREFIX.length);
    if (userId !== undefined) assertUserId(userId);
    this.sessionId = sessionId;
    this.userId = userId;
    this.#checkpointer = checkpointer;
  }

  /** Keeps a value in this process. It is gone with the session unless `checkpoint` makes it durable. */
  setWorking(key: string, value: unknown): void {
    this.#assertOpen("setWorking");
    if (typeof key !== "string") throw new TypeError("setWorking() takes a key, which is a text, then the value");
    this.#working.set(key, value);
  }

  getWorking<Value = unknown>(key: string): Value | undefined;
  getWorking<Value>(key: string, otherwise: Value): Value;
  getWorking<Value>(key: string, otherwise?: Value): Value | undefined {
    return this.#working.has(key) ? (this.#working.get(key) as Value) : otherwise;
  }

  /** In the order in which they were set. */
  workingKeys(): readonly string[] {
    return [...this.#working.keys()];
  }

  clearWorking(): void {
    this.#working.clear();
  }

  /**
   * Makes working state durable under a label, at a boundary that means
   * something: a task that is done, a handover. Returns the checkpoint's id.
   */
  async checkpoint(label: string, given?: CheckpointOptions): Promise<string> {
    return this.#save("checkpoint", label, given, {});
  }

  /** The session as a run sees it. An answer becomes a checkpoint with this label. */
  task(label: string, given?: CheckpointOptions): SessionTask {
    assertLabel(label);
    includedKeys("task", given);
    return {
      subject: this.userId,
      getWorking: <Value>(key: string, otherwise?: Value) => this.getWorking<Value | undefined>(key, otherwise),
      setWorking: (key, value) => this.setWorking(key, value),
      finished: async (run) => {
        await this.#save("checkpoint", label, given, { task: { ...run } });
      },
    };
  }

  /** The content of the newest checkpoint with this label; `undefined` if there is no such checkpoint. */
  async getCheckpoint(label: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    assertLabel(label);
    const checkpointer = await this.#opened("getCheckpoint");
    const threadId = threadOf(this.sessionId);
    for await (const { checkpointId, metadata } of checkpointer.history(threadId)) {
      if (metadata !== undefined && this.#labelIn(metadata) !== label) continue;
      const state = await loadState(checkpointer, threadId, { checkpointId });
      // It may have been deleted since it was listed; then an older one is the newest.
      if (state === undefined || this.#labelIn(state.metadata) !== label) continue;
      return state.metadata["working"] as Readonly<Record<string, unknown>>;
    }
    if (checkpointer.capabilities.history || !(await checkpointer.exists(threadId))) return undefined;
    throw new StateError(
      "UNSUPPORTED",
      `the newest checkpoint of this session has another label than ${JSON.stringify(label)}, and its backend keeps no older ones: its capability "history" is false`,
      { capability: "history" },
    );
  }

  /** Oldest first. */
  async listCheckpoints(): Promise<readonly SessionCheckpoint[]> {
    const checkpointer = await this.#opened("listCheckpoints");
    const threadId = threadOf(this.sessionId);
    const found: SessionCheckpoint[] = [];
    for await (const { checkpointId: id, metadata, createdAt } of checkpointer.history(threadId)) {
      const known = metadata ?? (await loadState(checkpointer, threadId, { checkpointId: id }))?.metadata;
      if (known !== undefined) found.push({ id, label: this.#labelIn(known), createdAt });
    }
    return found.reverse();
  }

  /** Discards the working state; checkpoints stay. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.clearWorking();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Each checkpoint stands alone, so that two processes in one session need not agree: both are kept. */
  async #save(
    operation: string,
    label: string,
    given: CheckpointOptions | undefined,
    more: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    assertLabel(label);
    const keys = includedKeys(operation, given) ?? this.workingKeys();
    const present = keys.filter((key) => this.#working.has(key));
    const working = Object.fromEntries(present.map((key) => [key, this.#working.get(key)]));
    const subject = this.userId === undefined ? {} : { subject: this.userId };
    // Copied before anything is awaited: the checkpoint is of this moment.
    const state = AgentState.create({ metadata: { [SESSION_KEY]: { label, ...more }, ...subject, working } });
    const checkpointer = await this.#opened(operation);
    // A conversation with this thread id must not get our checkpoints: checked once.
    await this.#assertSession(checkpointer);
    const metadata = { [SESSION_KEY]: { label }, ...subject };
    return checkpointer.save(state, threadOf(this.sessionId), { metadata, expectedHead: uncheckedHead });
  }

  async #assertSession(checkpointer: BaseCheckpointer): Promise<void> {
    if (this.#isSession) return;
    const state = await loadState(checkpointer, threadOf(this.sessionId));
    if (state !== undefined) this.#labelIn(state.metadata);
    this.#isSession = true;
  }

  /** The label of a checkpoint, which must be a session's. */
  #labelIn(metadata: Readonly<Record<string, unknown>>): string {
    const session = metadata[SESSION_KEY];
    if (isPlainObject(session)) return String(session["label"]);
    throw new StateError(
      "INVALID_ARGUMENT",
      `thread ${JSON.stringify(threadOf(this.sessionId))} is not a session's: give the session another id`,
    );
  }

  #opened(operation: string): Promise<BaseCheckpointer> {
    this.#assertOpen(operation);
    return this.#checkpointer();
  }

  #assertOpen(operation: string): void {
    if (!this.#isClosed) return;
    throw new StateError("CLOSED", `${operation}() after close(): AgentSession.restore() opens the session again`);
  }
}

/** The owner of the session as of its newest checkpoint; `undefined` if it has no owner or does not exist. */
export async function ownerOfSession(checkpointer: BaseCheckpointer, sessionId: string): Promise<string | undefined> {
  const subject = (await loadState(checkpointer, threadOf(sessionId)))?.metadata["subject"];
  return typeof subject === "string" ? subject : undefined;
}

const threadOf = (sessionId: string): string => `${SESSION_PREFIX}${sessionId}`;

function assertLabel(label: unknown): asserts label is string {
  if (typeof label === "string" && label !== "" && label.isWellFormed()) return;
  throw invalid('a label is a text that is not empty, such as "subtask_complete"');
}

function includedKeys(method: string, given: CheckpointOptions | undefined): readonly string[] | undefined {
  const { includeKeys } = optionsOf(method, given, { includeKeys: true });
  if (
    includeKeys === undefined ||
    (Array.isArray(includeKeys) && includeKeys.every((key) => typeof key === "string"))
  ) {
    return includeKeys;
  }
  throw invalid(`${method}(): includeKeys is a list of keys of working state`);
}
