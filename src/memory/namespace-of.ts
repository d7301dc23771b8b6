import { StateError } from "../errors.ts";
import { assertNamespace } from "../store/namespaces.ts";
import type { Namespace } from "../store/store-driver.ts";

/**
 * Whose memories a run reads and writes. By default those of the user that its
 * metadata name as `userId`; runs without one share a place of their own, which
 * no run with a user ever sees.
 */
export function namespaceFor(
  prefix: Namespace | ((metadata: Readonly<Record<string, unknown>>) => Namespace),
): (metadata: Readonly<Record<string, unknown>>) => Namespace {
  if (typeof prefix === "function") {
    return (metadata) => {
      const namespace = prefix(metadata);
      assertNamespace(namespace);
      return namespace;
    };
  }
  assertNamespace(prefix);
  return ({ userId }) => {
    if (userId === undefined) return [...prefix, "shared"];
    if (typeof userId !== "string") {
      throw new StateError("INVALID_ARGUMENT", "metadata.userId must be a text: it says whose memories are meant");
    }
    return [...prefix, "users", userId];
  };
}
