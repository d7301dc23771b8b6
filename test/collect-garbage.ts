import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Node collects all that no one holds, at once. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
}
