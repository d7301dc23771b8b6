import type { CommandCall } from "../command.ts";
import { UsageError } from "../exit-codes.ts";
import { fileText, storeUrlOf } from "../store-url.ts";

/** The secret that receipts are signed with: from a variable or a file, because a command line can be read by others. */
export async function secretKey({ options, world }: CommandCall): Promise<string> {
  const [named, file] = [options.text("key"), options.text("key-file")];
  if (file !== undefined) return (await fileText(file)).trim();
  if (named !== undefined && !/^env:/i.test(named)) {
    throw new UsageError("--key takes env:NAME: a secret on the command line is seen by others on this machine");
  }
  const key = named === undefined ? world.env["HOLDFAST_ERASURE_KEY"] : storeUrlOf(named, world.env);
  if (key !== undefined && key !== "") return key;
  throw new UsageError(
    "the secret that receipts are signed with is needed",
    "--key env:NAME, --key-file <file> or HOLDFAST_ERASURE_KEY",
  );
}
