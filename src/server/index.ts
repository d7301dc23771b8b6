/** The HTTP service: a checkpointer for programs on other machines. */
export type { Scope } from "../wire/protocol.ts";
export { type App, createApp } from "./app.ts";
export { createToken, type NewToken, type TokenEntry } from "./authentication.ts";
export type { RateLimit, ReportedFailure, ServiceOptions } from "./options.ts";
export { type RunningService, type ServeOptions, serve } from "./serve.ts";
