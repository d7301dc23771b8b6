import { localPlace } from "./saver-places.ts";
import { proveSaver } from "./saver-suite.ts";

proveSaver("sqlite", () => localPlace("sqlite"), 600);
