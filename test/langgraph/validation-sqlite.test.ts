import { localPlace } from "../saver/saver-places.ts";
import { validate } from "./validation-suite.ts";

validate("sqlite", () => localPlace("sqlite"));
