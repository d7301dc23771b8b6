import { lateAfter } from "./late-after.ts";

/** The result of `work`, or a TimeoutError after `ms`. `withDeadline` is for work that listens to a signal. */
export function inTime<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onLate = (): void => reject(new DOMException(`not done within ${ms} ms`, "TimeoutError"));
    const stop = lateAfter(ms, onLate);
    work.then(
      (value) => {
        stop();
        resolve(value);
      },
      (error: unknown) => {
        stop();
        reject(error);
      },
    );
  });
}
