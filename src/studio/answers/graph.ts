import { saverOf } from "../../saver/checkpoint-saver.ts";
import type { CheckpointInfo } from "../../saver/saver.ts";
import type { GraphAnswer, GraphCheckpoint } from "../items-api.ts";
import type { StudioRequest } from "../request.ts";
import type { StudioContext } from "../studio-context.ts";
import { cut, cutAt, fitting, LINE_SHOWN } from "./cut.ts";
import { jsonText } from "./value-tree.ts";

const CHECKPOINTS_SHOWN = 100;
const CHANNELS_SHOWN = 30;
const WRITES_SHOWN = 50;
const VALUE_SHOWN = 2000;
const VALUES_BYTES = 70 * 1024;

/** A graph's thread: its namespaces, the checkpoints of one, the channels and pending writes of one of those. */
export async function graphAnswer({ checkpointer }: StudioContext, request: StudioRequest): Promise<GraphAnswer> {
  const threadId = request.thread;
  const saver = saverOf(checkpointer);
  const all = await saver.listCheckpoints({ threadId });
  const namespaces = [...new Set(all.map(({ checkpointNs }) => checkpointNs))].sort().slice(0, 200);
  const namespace = request.text("namespace") ?? "";
  const own = all.filter(({ checkpointNs }) => checkpointNs === namespace);
  const at = request.text("at");
  const wanted = at === undefined ? own[0] : own.find(({ checkpointId }) => checkpointId === at);
  const saved = await wanted?.load();
  const values = (saved?.checkpointData["channel_values"] ?? saved?.checkpointData ?? {}) as object;
  const named = Object.entries(values);
  const channels = fitting(
    named
      .slice(0, CHANNELS_SHOWN)
      .map(([name, value]) => ({ name: cutAt(name, LINE_SHOWN), value: cut(jsonText(value, 2), VALUE_SHOWN) })),
    VALUES_BYTES,
  );
  const pending = fitting(
    (saved?.pendingWrites ?? []).slice(0, WRITES_SHOWN).map(({ taskId, channel, value }) => ({
      taskId: cutAt(taskId, LINE_SHOWN),
      channel: cutAt(channel, LINE_SHOWN),
      value: cut(jsonText(value, 2), VALUE_SHOWN),
    })),
    VALUES_BYTES,
  );
  return {
    namespaces: namespaces.length === 0 ? [""] : namespaces,
    namespace,
    checkpoints: fitting(own.slice(0, CHECKPOINTS_SHOWN).map(shownCheckpoint), VALUES_BYTES),
    more: own.length > CHECKPOINTS_SHOWN,
    ...(saved !== undefined && {
      shown: {
        checkpointId: saved.checkpointId,
        channels,
        moreChannels: named.length - channels.length,
        pending,
        metadata: cut(jsonText(saved.metadata, 2), VALUE_SHOWN),
      },
    }),
  };
}

function shownCheckpoint({ checkpointId, parentId, createdAt, metadata }: CheckpointInfo): GraphCheckpoint {
  const { source, step } = metadata;
  return {
    checkpointId,
    at: createdAt,
    ...(parentId !== undefined && { parentId }),
    ...(typeof source === "string" && { source: cutAt(source, LINE_SHOWN) }),
    ...(typeof step === "number" && { step }),
  };
}
