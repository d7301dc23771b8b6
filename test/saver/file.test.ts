import { localPlace } from "./saver-places.ts";
import { proveSaver } from "./saver-suite.ts";

proveSaver("file", () => localPlace("file"), 200);
