/** A program that forgets to close: saves, loads, perhaps waits, and has nothing left to do. */
import { setTimeout as sleep } from "node:timers/promises";
import { type RedisLibrary, redisCheckpointer } from "../../src/backends/redis/index.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { tellLinger } from "../ending.ts";

const [url = "", library = "ioredis", idleMs = "0"] = process.argv.slice(2);
const checkpointer = redisCheckpointer({ url, library: library as RedisLibrary });
const id = `finishing ${library} ${process.pid}`;
await checkpointer.save(AgentState.create().withMessage(userMessage("hello")), id);
for (let index = 0; index < 8; index++) await checkpointer.exists(`${id} ${index}`);
const state = await checkpointer.load(id);
console.log(`loaded ${state?.messages.length}`);
await sleep(Number(idleMs));
console.log("done");
tellLinger();
