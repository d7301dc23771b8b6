import { vi } from "vitest";
import { onFarPlaces } from "./far-places.ts";
import { proveSaver } from "./saver-suite.ts";

// Hundreds of requests in one case.
vi.setConfig({ testTimeout: 240_000 });

await onFarPlaces((name, makePlace) => proveSaver(name, makePlace, 60, 6));
