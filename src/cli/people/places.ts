import type { BaseCheckpointer } from "../../checkpoint/base-checkpointer.ts";
import { StateError } from "../../errors.ts";
import type { BaseStore } from "../../store/base-store.ts";
import type { CommandCall } from "../command.ts";
import { storeUrlOf } from "../store-url.ts";

/** Everything that was named, once it is open. */
export interface Places {
  readonly checkpointers: readonly BaseCheckpointer[];
  readonly stores: readonly BaseStore[];
}

/** The store of the command and those of `--also`: their threads, and their items where they have any. */
export async function placesOf(call: CommandCall, access: "read" | "write"): Promise<Places> {
  const { stores: named, options, world } = call;
  const urls = [...named, ...options.list("also").map((each) => storeUrlOf(each, world.env))];
  const checkpointers: BaseCheckpointer[] = [];
  const stores: BaseStore[] = [];
  for (const url of urls) {
    const [threads, items] = [await threadsAt(call, url, access), await itemsAt(call, url, access)];
    if (threads === undefined && items === undefined) {
      throw new StateError(
        "NOT_FOUND",
        "there is neither a thread nor an item in one of these stores; is it named rightly?",
      );
    }
    if (threads !== undefined) checkpointers.push(threads);
    if (items !== undefined) stores.push(items);
  }
  return { checkpointers, stores };
}

/** One place may hold items and no threads, or the other way round: what is not there is not made. */
const threadsAt = (call: CommandCall, url: string, access: "read" | "write"): Promise<BaseCheckpointer | undefined> =>
  whereThere(async () => {
    const checkpointer = await call.openOther(url, access);
    await checkpointer.exists("-");
    return checkpointer;
  });

const itemsAt = (call: CommandCall, url: string, access: "read" | "write"): Promise<BaseStore | undefined> =>
  whereThere(async () => {
    const looking = await call.openItems("read", url);
    await looking.exists(["-"], "-");
    return access === "read" ? looking : call.openItems("write", url);
  });

async function whereThere<T>(open: () => Promise<T>): Promise<T | undefined> {
  try {
    return await open();
  } catch (error) {
    if (StateError.is(error, "NOT_FOUND") || StateError.is(error, "UNSUPPORTED")) return undefined;
    throw error;
  }
}
