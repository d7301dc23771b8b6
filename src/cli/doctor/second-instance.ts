import { backendOf } from "../../backends/open.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { type CheckpointContext, contextOf } from "../../checkpoint/context.ts";
import type { ThreadLog } from "../../checkpoint/log/thread-log.ts";
import type { CommandCall } from "../command.ts";

/** A second instance, as another process would open it. What lies in the memory of one has no second. */
export function anotherOf({
  stores,
  open,
}: Pick<CommandCall, "stores" | "open">): (() => Promise<ThreadLog>) | undefined {
  if (backendOf(stores[0] ?? "").schemes.includes("memory")) return undefined;
  let opened: Promise<Checkpointer> | undefined;
  return async () => {
    opened ??= open("write");
    const checkpointer = await opened;
    await checkpointer.connect();
    return (contextOf(checkpointer) as CheckpointContext).log;
  };
}
