import { fixedUrl, openCheckpointer } from "../backends/open.ts";
import { assertCheckpointer, guardedLater } from "../checkpoint/assert-checkpointer.ts";
import type { BaseCheckpointer } from "../checkpoint/base-checkpointer.ts";
import { OpenOnce } from "../driver/open-once.ts";
import { optionsOf } from "../driver/options.ts";
import { CoreAgentSession, ownerOfSession } from "../session/agent-session.ts";

const DEFAULT_BACKEND = "sqlite:.agent_state.db";

export interface RestoreOptions {
  /** Where checkpoints are kept: a checkpointer, or a URL for `openCheckpointer`. @default a SQLite file, `.agent_state.db` */
  readonly backend?: BaseCheckpointer | string;
}

export interface AgentSessionOptions extends RestoreOptions {
  readonly sessionId: string;
  /** Whose session it is. Its checkpoints are about this person. */
  readonly userId?: string;
}

/**
 * Two lifecycles in one place: working state, which lives in this process and
 * ends with it, and checkpoints, which are taken from it at meaningful moments.
 * Data about people has a third lifecycle: `UserStore`.
 */
export class AgentSession extends CoreAgentSession {
  readonly #opened: OpenOnce<BaseCheckpointer> | undefined;

  constructor(options: AgentSessionOptions) {
    const {
      sessionId,
      userId,
      backend = DEFAULT_BACKEND,
    } = optionsOf("new AgentSession", options, {
      sessionId: true,
      userId: true,
      backend: true,
    });
    const opened = openingOf(backend, "AgentSession({ backend })");
    super({ sessionId, userId, checkpointer: () => opened.get() });
    this.#opened = typeof backend === "string" ? opened : undefined;
  }

  /** The session as any process finds it again: with its checkpoints, without its working state. */
  static async restore(sessionId: string, given?: RestoreOptions): Promise<AgentSession> {
    const { backend = DEFAULT_BACKEND } = optionsOf("AgentSession.restore", given, { backend: true });
    const opening = openingOf(backend, "AgentSession.restore()");
    try {
      // Asked now, because an unreachable storage must not look like a session without checkpoints.
      const userId = await ownerOfSession(await opening.get(), sessionId);
      return new AgentSession({ sessionId, backend, ...(userId !== undefined && { userId }) });
    } finally {
      if (typeof backend === "string") await (await opening.opened())?.close();
    }
  }

  /** Also closes a backend that the session opened from a URL. One that was handed in stays open. */
  override async close(): Promise<void> {
    await super.close();
    await (await this.#opened?.opened())?.close();
  }
}

/** A wrong object is refused now, not when the first checkpoint is saved. */
function openingOf(backend: BaseCheckpointer | string, where: string): OpenOnce<BaseCheckpointer> {
  if (typeof backend === "string") {
    const url = fixedUrl(backend);
    return new OpenOnce(() => openCheckpointer(url));
  }
  assertCheckpointer(backend, where);
  return new OpenOnce(() => guardedLater(backend));
}
