import { OpenOnce } from "../../driver/open-once.ts";
import type { freeName as free, NamedPlan } from "./moving-names.ts";

/** Loaded with the first save under a name that the thread may have already. */
const movingNames = new OpenOnce(() => import("./moving-names.ts"));

export const freeName = async (...given: Parameters<typeof free>): Promise<NamedPlan> =>
  (await movingNames.get()).freeName(...given);
