import type { Access } from "../../driver/access.ts";
import { StateError } from "../../errors.ts";
import { serverText } from "./classify.ts";
import { FORMAT } from "./layout.ts";
import type { Argument, RedisPort } from "./port.ts";
import type { Script } from "./scripts/script.ts";

/** Runs a script on the server that has the first of its keys. */
export type RunScript = (script: Script, keys: readonly string[], args?: readonly Argument[]) => Promise<unknown>;

/** With read access, a server that supports it (Redis 7 and later) is told to refuse writes of the script. */
export async function run(
  port: RedisPort,
  script: Script,
  keys: readonly string[],
  args: readonly Argument[],
  access: Access = "write",
): Promise<unknown> {
  try {
    if (access === "write" || withoutReadOnly.has(port)) return await send(port, script, keys, args, "");
    return await send(port, script, keys, args, "_RO").catch((error: unknown) => {
      if (!isWithoutReadOnly(error)) throw error;
      withoutReadOnly.add(port);
      return send(port, script, keys, args, "");
    });
  } catch (error) {
    throw explained(error, keys);
  }
}

/** Servers that do not know the read-only commands, or do not allow this user to run them. */
const withoutReadOnly = new WeakSet<RedisPort>();

const isWithoutReadOnly = (error: unknown): boolean =>
  error instanceof Error && /^(?:ERR unknown command|NOPERM)[\s\S]*eval(?:sha)?_ro/i.test(error.message);

/** By its hash if the server knows it; after a restart the server is sent the text again. */
async function send(
  port: RedisPort,
  { sha, source }: Script,
  keys: readonly string[],
  args: readonly Argument[],
  kind: "" | "_RO",
): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...args];
  return port.send(keys[0], [`EVALSHA${kind}`, sha, ...rest]).catch((error: unknown) => {
    if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
    return port.send(keys[0], [`EVAL${kind}`, source, ...rest]);
  });
}

/** What a script says of one of many threads. */
export const faultOf = (text: string): unknown => explained(new Error(text), []);

/** A wrong value under a key is not the client's fault: the error names the key and says what to do. */
function explained(error: unknown, keys: readonly string[]): unknown {
  if (!(error instanceof Error)) return error;
  const [word, detail, format] = serverText(error).split(" ");
  if (word === "WRONGTYPE" || word === "NOTHREAD") {
    const location = word === "NOTHREAD" && detail !== undefined ? detail : keys.join(" or ");
    const what = `the key ${location} holds something that is not holdfast's`;
    const todo = "rename or delete that key, or give holdfast a prefix of its own";
    return new StateError("CORRUPT", `${what}; ${todo}`, { location, cause: error });
  }
  if (word === "APART") {
    const what = "keys of the store were evicted or deleted and others were not: what is left does not belong together";
    const todo =
      "run mendRedisStore() of holdfast/redis, which says what is lost, or restore a backup; and set maxmemory-policy noeviction";
    return new StateError("CORRUPT", `${what}; ${todo}`, { location: keys[0] ?? "", cause: error });
  }
  if (word === "OTHERFORMAT") {
    const what = `the key ${detail} has format ${format}; this build knows ${FORMAT}`;
    return new StateError("INCOMPATIBLE", `${what}. Upgrade holdfast to open it`, { cause: error });
  }
  return error;
}
