/**
 * The program of the page "Add a checkpointer backend", in TypeScript and with nothing added: three methods as they
 * stand there and the fourth that the page counts, over a dict. What a reader writes who has read that page alone.
 */
import { randomUUID } from "node:crypto";
import {
  AgentState,
  BaseCheckpointer,
  type CheckpointerCapabilities,
  type CheckpointRef,
  capabilities,
  type PageOptions,
  type SaveOptions,
} from "../src/index.ts";

/** Stands for the client of a storage. */
export class Connection {
  readonly rows: Map<string, unknown> = new Map();

  async put(key: string, value: unknown): Promise<void> {
    this.rows.set(key, value);
  }

  async get(key: string): Promise<unknown> {
    return this.rows.get(key);
  }

  async delete(key: string): Promise<void> {
    this.rows.delete(key);
  }

  async listKeys(prefix: string, limit?: number): Promise<string[]> {
    return [...this.rows.keys()].filter((key) => key.startsWith(prefix)).slice(0, limit);
  }
}

/** Stores checkpoints in <your-storage-here>. */
export class MyCustomBackend extends BaseCheckpointer {
  readonly _conn: Connection;

  constructor(conn: Connection = new Connection()) {
    super();
    this._conn = conn;
  }

  get capabilities(): CheckpointerCapabilities {
    return capabilities({});
  }

  async save(state: AgentState, threadId: string, { checkpointId }: SaveOptions = {}): Promise<string> {
    const cpId = checkpointId ?? randomUUID();
    const payload = state.toCheckpoint();
    await this._conn.put(`${threadId}/${cpId}`, payload);
    await this._conn.put(`${threadId}/latest`, cpId);
    return cpId;
  }

  async load(threadId: string, { checkpointId }: CheckpointRef = {}): Promise<AgentState | undefined> {
    const cpId = checkpointId ?? (await this._conn.get(`${threadId}/latest`));
    if (cpId === undefined) return undefined;
    const data = await this._conn.get(`${threadId}/${cpId}`);
    if (data === undefined) return undefined;
    return AgentState.fromCheckpoint(data);
  }

  async listCheckpoints(threadId: string, { limit = 10 }: PageOptions = {}): Promise<string[]> {
    return this._conn.listKeys(`${threadId}/`, limit);
  }

  async delete(threadId: string): Promise<boolean> {
    for (const key of await this._conn.listKeys(`${threadId}/`)) await this._conn.delete(key);
    return true;
  }
}

/** With the flags of the page; `listThreads` is advertised there and not written. */
export class WithTheFlagsOfThePage extends MyCustomBackend {
  override get capabilities(): CheckpointerCapabilities {
    return capabilities({ listThreads: true, persistentCheckpointIds: true });
  }
}

/** And with the method that the flag stands for, as plain as the others. */
export class WithItsThreads extends WithTheFlagsOfThePage {
  override async listThreads(): Promise<never> {
    const keys = await this._conn.listKeys("");
    return keys.map((key) => key.split("/")[0]) as never;
  }
}
