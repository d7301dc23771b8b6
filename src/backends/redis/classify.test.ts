import { expect, test } from "vitest";
import { classify } from "./classify.ts";

const named = (name: string): Error => Object.assign(new Error("…"), { name });

test.for([
  ["NOAUTH Authentication required.", "PERMISSION_DENIED"],
  ["WRONGPASS invalid username-password pair or user is disabled.", "PERMISSION_DENIED"],
  ["NOPERM this user has no permissions to run the 'evalsha' command", "PERMISSION_DENIED"],
  ["ERR The user executing the script can't run this command or subcommand", "PERMISSION_DENIED"],
  ["ERR ACL failure in script: User a has no permissions to run the 'hset' command", "PERMISSION_DENIED"],
  ["ERR invalid password", "PERMISSION_DENIED"],
  ["OOM command not allowed when used memory > 'maxmemory'.", "STORAGE_FULL"],
  ["MISCONF Errors writing to the AOF file: No space left on device", "STORAGE_FULL"],
  ["MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", "UNAVAILABLE"],
  ["READONLY You can't write against a read only replica.", "UNAVAILABLE"],
  ["LOADING Redis is loading the dataset in memory", "UNAVAILABLE"],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "UNAVAILABLE"],
  ["CLUSTERDOWN Hash slot not served", "UNAVAILABLE"],
  ["TRYAGAIN Multiple keys request during rehashing of slot", "UNAVAILABLE"],
  ["NOREPLICAS Not enough good replicas to write.", "UNAVAILABLE"],
  ["BUSY Redis is busy running a script.", "UNAVAILABLE"],
  ["ERR max number of clients reached", "UNAVAILABLE"],
  ["Too many Cluster redirections. Last error: ReplyError: CLUSTERDOWN The cluster is down", "UNAVAILABLE"],
  ["Connection is closed.", "UNAVAILABLE"],
  ["WRONGTYPE Operation against a key holding the wrong kind of value", "CORRUPT"],
  ["ERR unknown command 'EVALSHA'", "UNSUPPORTED"],
  ["ERR DB index is out of range", "INVALID_ARGUMENT"],
  ["ERR something new", undefined],
] as const)("%s is %s", ([message, code]) => {
  expect(classify(new Error(message))).toBe(code);
});

test("an error inside a script is recognised in the wrapping that servers before Redis 7 use", () => {
  const wrapped = "ERR Error running script (call to f_0a1b): @user_script:3: @user_script: 3: ";
  expect(classify(new Error(`${wrapped}-OOM command not allowed when used memory > 'maxmemory'.`))).toBe(
    "STORAGE_FULL",
  );
  expect(classify(new Error(`${wrapped}-READONLY You can't write against a read only replica.`))).toBe("UNAVAILABLE");
  expect(classify(new Error("ERR Error running script (call to f_0a1b): @user_script:3: WRONGTYPE Operation"))).toBe(
    "CORRUPT",
  );
});

test("errors of the network and of the clients are classified by their codes and classes", () => {
  expect(classify(Object.assign(new Error("connect"), { code: "ECONNREFUSED" }))).toBe("UNAVAILABLE");
  expect(classify(Object.assign(new Error("connect"), { code: "ETIMEDOUT" }))).toBe("TIMEOUT");
  expect(classify(named("MaxRetriesPerRequestError"))).toBe("UNAVAILABLE");
  expect(classify(new (class SocketClosedUnexpectedlyError extends Error {})())).toBe("UNAVAILABLE");
  expect(classify(new (class ConnectionTimeoutError extends Error {})())).toBe("TIMEOUT");
});

test("a cluster that could not be reached is classified by its last node's error", () => {
  const lastNodeError = new Error("WRONGPASS invalid username-password pair");
  expect(classify(Object.assign(named("ClusterAllFailedError"), { lastNodeError }))).toBe("PERMISSION_DENIED");
  expect(classify(named("ClusterAllFailedError"))).toBe("UNAVAILABLE");
});

test("a value that is not an error, and an unknown error, are not classified", () => {
  for (const other of [undefined, null, "OOM", { message: "OOM" }, new TypeError("x is not a function")]) {
    expect(classify(other)).toBeUndefined();
  }
});
