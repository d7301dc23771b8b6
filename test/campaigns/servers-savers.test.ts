import { vi } from "vitest";
import { validate } from "../langgraph/validation-suite.ts";
import { onFarPlaces } from "../saver/far-places.ts";
import { localPlace } from "../saver/saver-places.ts";
import { proveSaver } from "../saver/saver-suite.ts";

vi.setConfig({ testTimeout: 900_000, hookTimeout: 900_000 });

const OPERATIONS = Number(process.env["HOLDFAST_RANDOM_OPERATIONS"] ?? 3000);

/** LangGraph's own suite whole, and the saver's, where `npm test` only takes a sample. */
await onFarPlaces((name, makePlace) => {
  proveSaver(name, makePlace, OPERATIONS);
  validate(name, makePlace);
});
validate("file", () => localPlace("file"));
