import type { CommandCall } from "../command.ts";
import { completionFor, SHELLS } from "../completion.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-codes.ts";

export async function run({ given, printer }: CommandCall): Promise<ExitCode> {
  const shell = SHELLS.find((name) => name === given["shell"]);
  if (shell === undefined) throw new UsageError(`completion is there for ${SHELLS.join(", ")}`);
  await printer.text(completionFor(shell));
  return EXIT.done;
}
