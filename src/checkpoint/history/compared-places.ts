/** A checkpoint of any thread. */
export interface StatePlace {
  readonly threadId: string;
  /** @default the newest */
  readonly checkpointId?: string;
}

/** What `diff` was given, as two places. */
export function comparedPlaces(
  first: string | StatePlace,
  second: string | StatePlace,
  third: string | undefined,
): readonly [StatePlace, StatePlace] {
  if (isPlace(first) || isPlace(second)) {
    if (isPlace(first) && isPlace(second) && third === undefined) return [first, second];
    throw new TypeError("diff() takes a thread id and two checkpoint ids, or two places: { threadId, checkpointId }");
  }
  // What is not an id is refused where it is used, as by every method.
  const ids = [second, third] as readonly string[];
  return [placeOf(first as string, ids[0]), placeOf(first as string, ids[1])];
}

const placeOf = (threadId: string, checkpointId: string | undefined): StatePlace =>
  ({ threadId, checkpointId }) as StatePlace;

const isPlace = (given: unknown): given is StatePlace =>
  typeof given === "object" && given !== null && "threadId" in given;
