import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { visibleDocument } from "../../output/visible.ts";
import { forLooking } from "./inventory.ts";

/** To stdout, a JSON object a line; the first one describes the others. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const data = await forLooking(call);
  for await (const line of data.exportUser(call.given["user"] ?? "")) {
    call.world.signal.throwIfAborted();
    await call.world.stdout.write(`${visibleDocument(line)}\n`);
  }
  return EXIT.done;
}
