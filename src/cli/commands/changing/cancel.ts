import type { CommandCall } from "../../command.ts";
import type { ExitCode } from "../../exit-codes.ts";
import { sendTo } from "./send.ts";

export const run = (call: CommandCall): Promise<ExitCode> =>
  sendTo(call, { cancel: call.options.text("reason") ?? true });
