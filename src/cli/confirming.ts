import type { CommandCall } from "./command.ts";
import { NotConfirmed } from "./exit-codes.ts";

/**
 * Continues only when a person typed `expected`, or when `--yes` was given. Without a
 * terminal it does not wait: it ends and names the option that answers.
 */
export async function confirm(call: CommandCall, question: string, expected: string): Promise<void> {
  const { options, world, note } = call;
  if (options.flag("yes")) return;
  const { stdin, stderr, env } = world;
  const isCi = env["CI"] !== undefined && env["CI"] !== "";
  if (!stdin.isTerminal || !stderr.isTerminal || isCi) {
    throw new NotConfirmed(
      "this needs a confirmation, and there is no terminal to ask on: add --yes, or look first with --dry-run",
    );
  }
  await note(question);
  await stderr.write("> ");
  const typed = (await stdin.line()).trim();
  if (typed !== expected) throw new NotConfirmed("not confirmed; nothing was changed");
}
