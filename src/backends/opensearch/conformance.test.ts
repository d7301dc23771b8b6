import { afterAll, test } from "vitest";
import { testFeatures } from "../../../test/feature-sample.ts";
import { behindProxy } from "../../../test/network/outage-proxy.ts";
import { ownIndex } from "../../../test/services/opensearch-index.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import type { Checkpointer } from "../../checkpoint/checkpointer.ts";
import { testThreadLog } from "../../testing/test-thread-log.ts";
import { opensearchLogOptions, optionsOfUrl } from "./checkpointer.ts";
import { opensearchCheckpointer } from "./index.ts";
import { OpenSearchLog } from "./log.ts";

// Some cases make a thousand calls, and each write is synced.
await describeWithService("opensearch", (url) => {
  const index = ownIndex(url);
  afterAll(index.remove);

  const place = async () => {
    const { url: proxied, ...rest } = await behindProxy(index.namespace());
    return { options: optionsOfUrl(proxied), ...rest };
  };

  testThreadLog({
    name: "opensearch",
    test,
    afterAll,
    create: async () => {
      const { options, ...rest } = await place();
      const open = (): OpenSearchLog => new OpenSearchLog(opensearchLogOptions(options));
      return { subject: open(), reopen: async () => open(), ...rest };
    },
  });

  testFeatures({
    name: "opensearch",
    test,
    afterAll,
    create: async () => {
      const { options, ...rest } = await place();
      const open = (): Checkpointer => opensearchCheckpointer(options);
      return { subject: open(), reopen: async () => open(), ...rest };
    },
  });
});
