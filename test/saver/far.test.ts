import { onFarPlaces } from "./far-places.ts";
import { proveSaver } from "./saver-suite.ts";

// Hundreds of requests in one case.
await onFarPlaces((name, makePlace) => proveSaver(name, makePlace, 60, 6));
