/**
 * Work that seldom has to wait. It is written as a generator, which hands over what it waits for by `yield* awaited(…)`:
 * the result is there at once where it did not, and no other work comes between.
 */
export type Steps<Result> = Generator<Promise<unknown>, Result, unknown>;

export function* awaited<Value>(promise: Promise<Value>): Steps<Value> {
  return (yield promise) as Value;
}

export function atOnce<Result>(steps: Steps<Result>): Result | Promise<Result> {
  const first = steps.next();
  return first.done === true ? first.value : rest(steps, first.value);
}

async function rest<Result>(steps: Steps<Result>, waited: Promise<unknown>): Promise<Result> {
  for (let promise = waited; ; ) {
    const next = steps.next(await promise);
    if (next.done === true) return next.value;
    promise = next.value;
  }
}
