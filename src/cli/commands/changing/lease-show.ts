import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { missingThread } from "../../references.ts";

export async function run({ given, printer, open }: CommandCall): Promise<ExitCode> {
  const threadId = given["thread"] ?? "";
  const checkpointer = await open();
  const lease = await checkpointer.leaseOf(threadId);
  if (lease === undefined && !(await checkpointer.exists(threadId))) throw missingThread(threadId);
  await printer.facts(
    [
      ["thread", { id: threadId }],
      ["held by", lease?.owner ?? "not leased"],
      ["token", lease?.token],
      ["until", lease?.expiresAt.toISOString()],
    ],
    { threadId, lease: lease ?? null },
  );
  return EXIT.done;
}
