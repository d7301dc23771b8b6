/**
 * A reading that callers share who ask at the same time. It begins after each of
 * them asked, so nobody gets an answer that is older than the question.
 */
export function sharedReading<T>(read: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | undefined;
  let underWay: Promise<unknown> = Promise.resolve();
  const begin = (): Promise<T> => {
    next = undefined;
    const reading = read();
    underWay = reading;
    return reading;
  };
  return () => {
    next ??= underWay.then(begin, begin);
    return next;
  };
}
