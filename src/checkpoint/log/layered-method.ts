import type { ThreadLog } from "./thread-log.ts";

/** The optional methods of a log. */
export type OptionalMethod = "connect" | "search" | "catchUp" | "queryMetadata" | "subscribe" | "now" | "declined";

/** The property of a layer for this method, built from the one below whenever the log below has it. */
export const layeredMethod = <Name extends OptionalMethod>(
  inner: ThreadLog,
  name: Name,
  layered: (method: NonNullable<ThreadLog[Name]>) => NonNullable<ThreadLog[Name]>,
): PropertyDescriptor => ({
  get: () => {
    const method = inner[name];
    return method && layered(method.bind(inner) as NonNullable<ThreadLog[Name]>);
  },
});
