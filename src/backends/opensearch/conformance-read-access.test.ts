import { afterAll, test } from "vitest";
import { ReadThroughLog } from "../../../test/read-access/read-through-log.ts";
import { httpUrl, ownIndex } from "../../../test/services/opensearch-index.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { ReadOnlyLog } from "../../checkpoint/log/read-only-log.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { opensearchLogOptions, optionsOfUrl } from "./checkpointer.ts";
import { OpenSearchLog } from "./log.ts";

// Some cases make a thousand calls, each write is synced, and the index is refreshed after it.
await describeWithService("opensearch", (url) => {
  const index = ownIndex(url);
  afterAll(index.remove);
  /** A reader does not refresh, so the writer does it here. */
  const refresh = (): Promise<unknown> => fetch(`${httpUrl(url)}/${index.name}/_refresh`, { method: "POST" });

  testThreadLog({
    name: "opensearch with read access",
    test,
    afterAll,
    create: async () => {
      const where = optionsOfUrl(index.namespace());
      const open = async (): Promise<ReadThroughLog> => {
        const writer = new OpenSearchLog(opensearchLogOptions(where));
        await writer.connect();
        const reader = new OpenSearchLog(opensearchLogOptions({ ...where, access: "read" }));
        return new ReadThroughLog(writer, new ReadOnlyLog(reader), refresh);
      };
      return { subject: await open(), reopen: open };
    },
  });
});
