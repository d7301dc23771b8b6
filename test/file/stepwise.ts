import { AsyncLocalStorage } from "node:async_hooks";

/** Called for every call into the file system that is made on its behalf, before it is made and with its result. */
export interface Listener {
  before(call: string, path?: unknown): Promise<void>;
  after?(call: string, result: unknown): unknown;
}

export const actors: AsyncLocalStorage<Listener> = new AsyncLocalStorage();

type Call = (...args: unknown[]) => Promise<unknown>;

/** A module of functions of the file system, each of which asks the actor at work before it does anything. */
export const stepwiseModule = (module: object): object =>
  Object.fromEntries(
    Object.entries(module).map(([name, value]) => [
      name,
      typeof value === "function" ? stepwise(name, value as Call) : value,
    ]),
  );

const stepwise =
  (name: string, call: Call): Call =>
  async (...args) => {
    await actors.getStore()?.before(name, args[0]);
    const result = await call(...args);
    if (isFileHandle(result)) return stepwiseHandle(result);
    const { after } = actors.getStore() ?? {};
    return after === undefined ? result : after(name, result);
  };

const isFileHandle = (value: unknown): value is object =>
  typeof value === "object" && value !== null && "datasync" in value;

const stepwiseHandle = (handle: object): object =>
  new Proxy(handle, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      // The system closes the files of a process that is killed.
      return name === "close" ? value.bind(target) : stepwise(String(name), value.bind(target) as Call);
    },
  });
