import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { StateError } from "../../errors.ts";

/** Which checkpoints another saver has, without holding any of them. */

export interface SourcePlace {
  readonly ns: string;
  readonly id: string;
}

/** Their SQL savers list whole states, all of them at once; their tables tell the ids alone. */
interface IdTable {
  readonly name: string;
  ask(sql: string, ...values: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

interface SqlSaver {
  readonly db?: { prepare?(sql: string): { all(...values: readonly string[]): readonly Record<string, unknown>[] } };
  readonly pool?: {
    query?(sql: string, values: readonly string[]): Promise<{ readonly rows: readonly Record<string, unknown>[] }>;
  };
  readonly options?: { readonly schema?: string };
}

function tableOf(source: BaseCheckpointSaver): IdTable | undefined {
  const { db, pool, options } = source as unknown as SqlSaver;
  if (typeof db?.prepare === "function") {
    return { name: "checkpoints", ask: async (sql, ...values) => db.prepare?.(sql).all(...values) ?? [] };
  }
  if (typeof pool?.query !== "function") return undefined;
  const name = `"${(options?.schema ?? "public").replaceAll('"', '""')}".checkpoints`;
  return { name, ask: async (sql, ...values) => (await pool.query?.(sql.replace("?", "$1"), values))?.rows ?? [] };
}

export async function sourceThreads(source: BaseCheckpointSaver): Promise<readonly string[]> {
  const table = tableOf(source);
  const rows = await table?.ask(`SELECT DISTINCT thread_id FROM ${table.name}`).catch(nothing);
  if (rows !== undefined) return rows.map((row) => String(row["thread_id"])).sort();
  const ids = new Set<string>();
  for await (const { threadId } of listed(source, {})) ids.add(threadId);
  return [...ids].sort();
}

/** Parents before their children: ids grow. */
export async function sourcePlaces(source: BaseCheckpointSaver, threadId: string): Promise<readonly SourcePlace[]> {
  const table = tableOf(source);
  const rows = await table
    ?.ask(`SELECT checkpoint_ns, checkpoint_id FROM ${table.name} WHERE thread_id = ?`, threadId)
    .catch(nothing);
  const places = rows?.map((row) => ({ ns: String(row["checkpoint_ns"]), id: String(row["checkpoint_id"]) })) ?? [];
  if (rows === undefined) {
    for await (const { ns, id } of listed(source, { configurable: { thread_id: threadId } })) places.push({ ns, id });
  }
  return places.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

/** Not the table that is known, or no table yet: the saver itself is asked. */
const nothing = (): undefined => undefined;

/** As many as RediSearch gives at once, by default. */
const MOST_LISTED = 1_000_000;

/** All that a saver lists: asked without a limit, `RedisSaver` lists ten and says nothing of the others. */
async function* listed(
  source: BaseCheckpointSaver,
  config: RunnableConfig,
): AsyncGenerator<SourcePlace & { readonly threadId: string }> {
  let count = 0;
  for await (const { config: at, checkpoint } of source.list(config, { limit: MOST_LISTED })) {
    count++;
    const { thread_id: threadId, checkpoint_ns: ns = "" } = at.configurable ?? {};
    yield { threadId: String(threadId), ns: String(ns), id: checkpoint.id };
  }
  if (count < MOST_LISTED) return;
  const todo = "name the threads to be copied (threadIds), some at a time";
  throw new StateError("TOO_LARGE", `the source lists ${count} checkpoints, and may have more: ${todo}`);
}
