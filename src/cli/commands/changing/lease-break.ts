import { type CommandCall, confirm } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { missingThread } from "../../references.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer } = call;
  const threadId = given["thread"] ?? "";
  const isDry = options.flag("dry-run");
  const checkpointer = await call.open(isDry ? "read" : "write");
  const lease = await checkpointer.leaseOf(threadId);
  if (lease === undefined && !(await checkpointer.exists(threadId))) throw missingThread(threadId);
  const wanted = options.text("if-token");
  let isBroken = false;
  if (lease !== undefined && !isDry) {
    const question = `${JSON.stringify(lease.owner)} holds this thread, and its next save will be refused; type the thread's id to go on`;
    await confirm(call, question, threadId);
    // The holding that was shown, and no later one.
    isBroken = await checkpointer.breakLease(threadId, { ifToken: wanted ?? lease.token });
  }
  const would = isDry && lease !== undefined && (wanted === undefined || wanted === lease.token);
  const outcome = isBroken
    ? "broken"
    : would
      ? "would be broken"
      : lease === undefined
        ? "not leased"
        : "another lease";
  await printer.facts(
    [
      ["thread", { id: threadId }],
      ["lease", outcome],
      ["was held by", lease?.owner],
    ],
    { threadId, broken: isBroken, lease: lease ?? null, dryRun: isDry },
  );
  return EXIT.done;
}
