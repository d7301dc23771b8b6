import { hostname } from "node:os";
import { nodeCrypto } from "../../internal/node-builtins.ts";

/**
 * Which process holds a lease. It is recorded with the lease, so that a lease left
 * behind by a dead process on the same machine blocks no other. If that cannot be
 * determined, the lease's time decides.
 */
export interface LeaseHolder {
  /** For people. */
  readonly name: string;
  /** For processes of the same machine. */
  readonly mark: string;
  /** True only if the holder is known to be dead, or to have finished what it held the lease for. */
  isGone(mark: string, leaseId: string): boolean;
}

/** Neither this nor `node:worker_threads` is imported: only leases ask for them, and every program would wait for them. */
const files = (): typeof import("node:fs") => process.getBuiltinModule("node:fs");

const LIVE = Symbol.for("holdfast.liveLeases");

/** The leases that runs of this process currently hold, each with its end, across all loaded copies of the package. */
export function liveLeases(): Map<string, Promise<void>> {
  const place = globalThis as { [LIVE]?: Map<string, Promise<void>> };
  place[LIVE] ??= new Map();
  return place[LIVE];
}

interface ProcessStat {
  readonly state: string;
  readonly startedAt: string;
}

/**
 * From /proc: the state and start time of a process. The name, which may contain
 * anything, is in parentheses before them.
 */
function statOf(pid: number | "self"): ProcessStat | undefined {
  try {
    const text = files().readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [state, startedAt] = [fields[0], fields[19]];
    return state === undefined || startedAt === undefined ? undefined : { state, startedAt };
  } catch {
    return undefined;
  }
}

/** One boot of one machine and one pid namespace on it: a container has its own. */
function machineId(): string | undefined {
  try {
    const boot = files().readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    const space = files().readlinkSync("/proc/self/ns/pid");
    return nodeCrypto().createHash("sha256").update(`${boot} ${space}`).digest("hex").slice(0, 12);
  } catch {
    return undefined;
  }
}

/**
 * The mark is `machine/pid/start/worker`. Where the system does not reveal the
 * first three, a random name replaces them all.
 */
export function thisProcess(): LeaseHolder {
  const machine = machineId();
  const own = statOf("self");
  const knows = machine !== undefined && own !== undefined;
  const place = knows ? `${machine}/${process.pid}/${own.startedAt}` : nodeCrypto().randomUUID();
  const { threadId: workerId } = process.getBuiltinModule("node:worker_threads");
  const mark = `${place}/${workerId}`;
  return {
    name: `process ${process.pid} on ${hostname()}`,
    mark,
    isGone: (other, leaseId) => {
      if (other === mark) return !liveLeases().has(leaseId);
      return knows && other.startsWith(`${machine}/`) && !other.startsWith(`${place}/`) && isDead(other);
    },
  };
}

const ENDED: ReadonlySet<string> = new Set(["Z", "X", "x"]);

function isDead(mark: string): boolean {
  const [, pid, startedAt] = mark.split("/");
  const number = Number(pid);
  if (!Number.isInteger(number) || number < 1) return false;
  try {
    process.kill(number, 0);
  } catch (error) {
    // A process that we may not signal exists.
    if ((error as { code?: unknown }).code === "ESRCH") return true;
  }
  const stat = statOf(number);
  return stat !== undefined && (stat.startedAt !== startedAt || ENDED.has(stat.state));
}
