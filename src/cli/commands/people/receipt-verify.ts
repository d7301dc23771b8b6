import { type ErasureReceipt, erasureKeys, faultInReceipts } from "../../../session/receipts.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { secretKey } from "../../people/secret-key.ts";
import { fileText } from "../../store-url.ts";

/** Whether receipts are as they were signed, and in an unbroken chain. Needs the public key, or the secret that it follows from. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { given, options, printer } = call;
  const receipts = receiptsIn(await fileText(given["file"] ?? ""));
  const keyFile = options.text("public-key");
  const publicKey = keyFile === undefined ? erasureKeys(await secretKey(call)).publicKey : await fileText(keyFile);
  const fault = checked(receipts, publicKey);
  await printer.facts(
    [
      ["receipts", receipts.length],
      ["valid", fault === undefined ? "yes" : "no"],
      ["why", fault],
    ],
    { receipts: receipts.length, valid: fault === undefined, ...(fault !== undefined && { fault }) },
  );
  return fault === undefined ? EXIT.done : EXIT.no;
}

function checked(receipts: readonly ErasureReceipt[], publicKey: string): string | undefined {
  try {
    return faultInReceipts(receipts, publicKey);
  } catch {
    throw new UsageError("the public key cannot be read; erase prints it with -o json as publicKey");
  }
}

/** A JSON list, one receipt, or one a line. */
function receiptsIn(text: string): readonly ErasureReceipt[] {
  try {
    const trimmed = text.trim();
    const found = (
      trimmed.startsWith("[") ? JSON.parse(trimmed) : trimmed.split("\n").map((line) => JSON.parse(line))
    ) as unknown[];
    if (found.length > 0 && found.every((each) => typeof each === "object" && each !== null))
      return found as ErasureReceipt[];
  } catch {
    // Told below.
  }
  throw new UsageError(`the file holds no receipts: a JSON list, or one a line`);
}
