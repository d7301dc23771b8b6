import type { Namespace } from "../store/driver/store-driver.ts";
import { UsageError } from "./exit-codes.ts";

/** A namespace as people write it: its segments with slashes between them. In a segment, / is %2F and % is %25. */
export function namespaceOf(text: string): Namespace {
  if (text === "" || text === "/") return [];
  return text.split("/").map((segment) => {
    if (segment === "") throw new UsageError("a namespace is its segments with single slashes between them: users/ann");
    return segment.replace(/%2f/gi, "/").replaceAll("%25", "%");
  });
}

export const namespaceText = (namespace: Namespace): string =>
  namespace.length === 0 ? "/" : namespace.map((each) => each.replaceAll("%", "%25").replaceAll("/", "%2F")).join("/");
