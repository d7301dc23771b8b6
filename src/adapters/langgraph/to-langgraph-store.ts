import { fixedUrl } from "../../backends/open.ts";
import { openStore } from "../../backends/open-store.ts";
import { assertKnownOptions } from "../../internal/known-options.ts";
import { BaseStore } from "../../store/base-store.ts";
import { LangGraphStore, type LangGraphStoreOptions } from "./store.ts";

/**
 * A LangGraph store on any store of this package:
 *
 *     const graph = builder.compile({ store: toLangGraphStore("sqlite:./agents.db") });
 *
 * A URL is opened at the first use. A store that is handed in stays yours to close.
 */
export function toLangGraphStore(target: BaseStore | string, options: LangGraphStoreOptions = {}): LangGraphStore {
  assertKnownOptions("toLangGraphStore()", options, { index: "object", embedTimeoutMs: "number" });
  if (typeof target === "string") {
    const url = fixedUrl(target);
    return new LangGraphStore(() => openStore(url), { ...options, isOwn: true });
  }
  if (BaseStore.is(target)) return new LangGraphStore(async () => target, { ...options, isOwn: false });
  throw new TypeError("toLangGraphStore() takes a store of holdfast, or the URL of one");
}
