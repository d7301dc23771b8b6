import { isExpected } from "../../checkpoint/log/driver-rules.ts";
import type { KnownPlace } from "../../checkpoint/log/thread-log.ts";
import { toLeftovers } from "./documents.ts";
import { finishRemoval } from "./finishing.ts";
import { commitGone } from "./items.ts";
import type { ThreadName } from "./layout.ts";
import { findThread, OVERTAKEN, untilSteady } from "./reading.ts";
import type { Requests } from "./requests.ts";

type Removal = "removed" | "absent" | "moved";

export function removeThread(requests: Requests, name: ThreadName, ifTail: KnownPlace | undefined): Promise<Removal> {
  const { key } = name;
  return untilSteady(async () => {
    const found = await findThread(requests, name, "entries");
    if (found === undefined) return "absent";
    if (found.thread === undefined) {
      const { leftovers, revision } = found;
      if (!leftovers.some(({ copying }) => copying)) await finishRemoval(requests, key, leftovers, revision);
      return "absent";
    }
    const { generation, tail, life, floor, edits, leftovers } = found.thread;
    if (ifTail !== undefined && !isExpected({ generation, entry: tail }, ifTail)) return "moved";
    const all = [...leftovers, { life, from: edits?.from ?? floor, to: tail.seq, copying: false }];
    const revision = await requests.write(commitGone(key, all, found.revision));
    if (revision === undefined) return OVERTAKEN;
    await finishRemoval(requests, key, all, revision);
    return "removed";
  });
}

/** Finishes interrupted removals of any process. A copy that may be in progress is left alone. */
export async function finishRemovals(requests: Requests): Promise<void> {
  const gone = await requests.search({ query: { term: { kind: "gone" } }, size: 100 });
  // One that cannot be finished must not block the others.
  for (const { id } of gone) await finishRemovalAt(requests, id).catch(() => undefined);
}

async function finishRemovalAt(requests: Requests, id: string): Promise<void> {
  const document = await requests.get(id);
  if (document === undefined || document.source["kind"] !== "gone") return;
  const leftovers = toLeftovers(document.source);
  if (leftovers.some(({ copying }) => copying)) return;
  await finishRemoval(requests, id, leftovers, document.revision);
}
