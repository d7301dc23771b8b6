import { CAPABILITY_FLAGS, capabilitiesOf } from "../../../checkpoint/capabilities.ts";
import { contextOf } from "../../../checkpoint/context.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { sizeText } from "../../output/wording.ts";

/** Looked at with read access, told as a writer would find them. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const checkpointer = await call.open();
  await checkpointer.connect();
  const log = contextOf(checkpointer)?.log;
  const found = log === undefined ? checkpointer.capabilities : capabilitiesOf(log, "write");
  const { searchMethod, searchRanksUpTo, durability, limits } = found;
  const most = limits.maxRecordBytes;
  const size = call.printer.isForPeople && Number.isFinite(most) ? sizeText(most) : String(most);
  await call.printer.facts(
    [
      ...CAPABILITY_FLAGS.map((flag) => [flag, found[flag] ? "yes" : "no"] as const),
      ["durability", durability],
      ["searchMethod", searchMethod],
      ...(searchRanksUpTo === undefined ? [] : [["searchRanksUpTo", String(searchRanksUpTo)] as const]),
      ["maxRecordBytes", size],
    ],
    found,
  );
  return EXIT.done;
}
