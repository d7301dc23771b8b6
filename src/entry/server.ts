/** The HTTP service: a checkpointer for programs on other machines. */

export { type App, createApp } from "../server/app.ts";
export { createToken, type NewToken, type TokenEntry } from "../server/request/authentication.ts";
export type { RateLimit, ReportedFailure, ServiceOptions } from "../server/request/options.ts";
export { type RunningService, type ServeOptions, serve } from "../server/serve.ts";
export type { Scope } from "../wire/protocol.ts";
