import { fixedUrl, openSaver } from "../../backends/open.ts";
import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { assertKnownOptions, described } from "../../internal/known-options.ts";
import { CheckpointSaver, redactorOf, saverOf } from "../../saver/checkpoint-saver.ts";
import { LangGraphSaver, type LangGraphSaverOptions } from "./saver.ts";

/**
 * A LangGraph checkpointer on any storage of this package:
 *
 *     const graph = builder.compile({ checkpointer: toLangGraphSaver("sqlite:./graphs.db") });
 *
 * A URL is opened at the first use. A saver or a checkpointer stays yours to close.
 */
export function toLangGraphSaver(
  target: CheckpointSaver | BaseCheckpointer | string,
  options: LangGraphSaverOptions = {},
): LangGraphSaver {
  assertKnownOptions("toLangGraphSaver()", options, { serde: "object" });
  if (typeof target === "string") {
    const url = fixedUrl(target);
    return new LangGraphSaver(() => openSaver(url), options);
  }
  if (typeof target !== "object" || target === null) {
    throw new TypeError(
      `toLangGraphSaver() takes a CheckpointSaver, a Checkpointer or a URL such as "sqlite:./graphs.db", not ${described(target)}`,
    );
  }
  const saver = target instanceof CheckpointSaver ? target : saverOf(target);
  return new LangGraphSaver(async () => saver, options, redactorOf(saver));
}
