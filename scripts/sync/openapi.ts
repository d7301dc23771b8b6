import { describeProtocol } from "../../src/wire/openapi.ts";
import type { SyncedPart } from "./part.ts";

export const OPENAPI: SyncedPart = {
  path: "docs/reference/openapi.json",
  source: "the routes in src/wire",
  write: () => `${JSON.stringify(describeProtocol(), null, 2)}\n`,
};
