import { createToken } from "../../../server/request/authentication.ts";
import { SCOPES } from "../../../wire/protocol.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";

export async function run(call: CommandCall): Promise<ExitCode> {
  const { options, printer, world } = call;
  const scopes = (options.text("scopes") ?? "threads:read,threads:write").split(",").map((scope) => scope.trim());
  const unknown = scopes.find((scope) => !(SCOPES as readonly string[]).includes(scope));
  if (unknown !== undefined)
    throw new UsageError(`--scopes takes some of ${SCOPES.join(", ")}, with commas between them`);
  const tenant = options.text("tenant");
  if (tenant !== undefined && !/^[A-Za-z0-9_.-]{1,63}$/.test(tenant)) {
    throw new UsageError("--tenant takes 1 to 63 letters, digits, dots, hyphens and underscores");
  }
  const { token, sha256 } = createToken();
  const entry = { sha256, scopes, ...(tenant !== undefined && { tenant }) };
  if (printer.format === "json" || printer.format === "ndjson") await printer.document({ token, entry });
  else {
    await printer.text(token);
    await world.stderr.write(`${JSON.stringify(entry)}\n`);
  }
  return EXIT.done;
}
