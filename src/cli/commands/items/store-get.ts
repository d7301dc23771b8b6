import { StateError } from "../../../errors.ts";
import { encodeValue } from "../../../state/values/codec.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { itemJson, namespaceOf, namespaceText } from "../../item-listing.ts";
import { visibleJson } from "../../output/visible.ts";

export async function run({ given, printer, openItems }: CommandCall): Promise<ExitCode> {
  const [namespace, key] = [namespaceOf(given["namespace"] ?? ""), given["key"] ?? ""];
  const item = await (await openItems()).getItem(namespace, key);
  if (item === undefined) {
    throw new StateError("NOT_FOUND", `there is no item ${JSON.stringify(key)} in ${namespaceText(namespace)}`);
  }
  const { version, createdAt, updatedAt, expiresAt, metadata, value } = item;
  const isBare = Object.keys(metadata).length === 0;
  await printer.facts(
    [
      ["namespace", { id: namespaceText(namespace) }],
      ["key", { id: key }],
      ["version", version],
      ["created", createdAt],
      ["updated", updatedAt],
      ["expires", expiresAt?.toISOString()],
      ["metadata", isBare ? undefined : visibleJson(encodeValue(metadata, "metadata"))],
      ["value", visibleJson(encodeValue(value, "value"))],
    ],
    itemJson(item),
  );
  return EXIT.done;
}
