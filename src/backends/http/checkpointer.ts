import { Checkpointer } from "../../checkpoint/checkpointer.ts";
import type { CheckpointerOptions } from "../../checkpoint/context.ts";
import { assertOptions } from "../../driver/options.ts";
import { CONNECTION_OPTIONS, connectionOf, type HTTPConnectionOptions } from "./connect.ts";
import { HttpLog } from "./log.ts";
import { readServiceUrl } from "./service-url.ts";

export interface HTTPCheckpointerOptions extends CheckpointerOptions, HTTPConnectionOptions {}

/** Threads on another machine: a holdfast service, whatever its storage. */
export class HTTPCheckpointer extends Checkpointer {
  constructor(options: HTTPCheckpointerOptions) {
    assertOptions("HTTPCheckpointer", options, CONNECTION_OPTIONS);
    super(new HttpLog(connectionOf(options)), options);
  }
}

/** `https://state.example.com`, or with its token: `https://:<token>@state.example.com`. */
export const openUrl = (url: string, options: CheckpointerOptions = {}): Checkpointer =>
  new HTTPCheckpointer({ ...options, ...readServiceUrl(url) });
