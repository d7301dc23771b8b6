import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { DeferredLog } from "../../checkpoint/log/deferred-log.ts";
import { assertOptions } from "../../driver/options.ts";
import { CONNECTION_OPTIONS, connectionOf, type HTTPConnectionOptions } from "./connect.ts";
import { FACTS } from "./facts.ts";
import { readServiceUrl } from "./service-url.ts";

export interface HTTPCheckpointerOptions extends CheckpointerOptions, HTTPConnectionOptions {}

/** Threads on another machine: a holdfast service, whatever its storage. */
export class HTTPCheckpointer extends Checkpointer {
  constructor(options: HTTPCheckpointerOptions) {
    assertOptions("HTTPCheckpointer", options, CONNECTION_OPTIONS);
    const connection = connectionOf(options);
    super(new DeferredLog(FACTS, async () => new (await import("./log.ts")).HttpLog(connection)), options);
  }
}

/** `https://state.example.com`, or with its token: `https://:<token>@state.example.com`. */
export const openUrl = (url: string, options: CheckpointerOptions = {}): Checkpointer =>
  new HTTPCheckpointer({ ...options, ...readServiceUrl(url) });
