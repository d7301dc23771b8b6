import { type CheckpointContext, contextOf } from "../../../checkpoint/context.ts";
import type { CommandCall } from "../../command.ts";
import { type Damage, damagesIn } from "../../doctor/damages.ts";
import { type Latencies, type Latency, latenciesOf } from "../../doctor/latency.ts";
import { removeLeftovers } from "../../doctor/leftovers.ts";
import { casesOf, type Proofs, prove, type Subject } from "../../doctor/proving.ts";
import { assertMayRemove, Scratch, scratchPrefix } from "../../doctor/scratch.ts";
import { anotherOf } from "../../doctor/second-instance.ts";
import { type Surroundings, surroundingsOf } from "../../doctor/surroundings.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import type { Cell } from "../../output/printer.ts";
import { plural, sizeText } from "../../output/wording.ts";
import { Progress } from "../../transfer/progress.ts";

interface Findings {
  readonly surroundings: Surroundings;
  readonly proofs?: Proofs;
  readonly latencies?: Latencies;
  readonly damages: readonly Damage[];
  readonly threads: number;
}

/** Proves the duties of a driver on the store itself, in threads of its own that are gone when it ends, however it ends. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { options, world, note } = call;
  const root = rootOf(options.text("scratch") ?? "doctor-");
  const cases = options.flag("latency") ? [] : casesOf(options.text("cases"), options.flag("quick"));
  if (options.flag("clean")) return removeLeftovers(call, root);
  if (options.flag("dry-run")) return plan(call, cases.length);
  const checkpointer = await call.open("write");
  const context = contextOf(checkpointer) as CheckpointContext;
  await checkpointer.connect();
  const scratch = new Scratch(scratchPrefix(root, world.now()));
  await assertMayRemove(context, scratch);
  const subject: Subject = { context, scratch, signal: world.signal, another: anotherOf(call) };
  const progress = new Progress(call);
  try {
    const surroundings = await surroundingsOf(call.stores[0] ?? "", context);
    const proofs = await prove(subject, cases, (done) => progress.show(() => `${done} of ${cases.length} cases`));
    const latencies = options.flag("quick") ? undefined : await latenciesOf(subject);
    const found = options.flag("latency")
      ? { damages: [], threads: 0 }
      : await damagesIn(call, checkpointer, root, progress);
    await progress.clear();
    const findings = { surroundings, ...(cases.length > 0 && { proofs }), ...(latencies && { latencies }), ...found };
    const left = await leftBehind(call, context, scratch);
    await report(call, findings, left);
    return verdict(findings, left);
  } catch (error) {
    await progress.clear();
    const left = await leftBehind(call, context, scratch);
    if (world.signal.aborted && left === 0) await note("stopped; nothing was left behind").catch(() => undefined);
    throw error;
  }
}

function rootOf(text: string): string {
  if (/^[\w.:-]{1,30}$/.test(text)) return text;
  throw new UsageError("--scratch takes up to 30 letters, digits and . : _ -");
}

/** Ends what is under way, removes everything, and says what could not be. */
async function leftBehind(call: CommandCall, context: CheckpointContext, scratch: Scratch): Promise<number> {
  await scratch.end();
  const left = await scratch.clear(context);
  if (left.length > 0) {
    const what = `${plural(left.length, "thread")} below ${scratch.prefix} could not be removed`;
    await call.note(`holdfast: ${what}; holdfast doctor --clean tries again`).catch(() => undefined);
  }
  return left.length;
}

async function plan({ open, printer }: CommandCall, cases: number): Promise<ExitCode> {
  await (await open()).connect();
  await printer.facts([["would run", plural(cases, "case")]], { cases, dryRun: true });
  return EXIT.done;
}

/** Sealed, or of a newer version: it is not damaged, and nothing of it could be proven. */
const isUnreadable = ({ code }: Damage): boolean => code === "INCOMPATIBLE";

function verdict({ proofs, damages }: Findings, left: number): ExitCode {
  const areUnreadable = damages.filter(isUnreadable).length;
  if (damages.length > areUnreadable) return EXIT.corrupt;
  if ((proofs?.failed.length ?? 0) > 0) return EXIT.no;
  return left > 0 || areUnreadable > 0 ? EXIT.inPart : EXIT.done;
}

async function report({ printer }: CommandCall, findings: Findings, left: number): Promise<void> {
  const { surroundings, proofs, latencies, damages, threads } = findings;
  const { backend, durability, durabilityIs, clockAheadMs, clients, freeBytes } = surroundings;
  const facts: (readonly [string, Cell])[] = [
    ["backend", backend],
    ["durability", `${durability}, ${durabilityIs}`],
    ["clock", clockAheadMs === undefined ? undefined : `${clockAheadMs} ms ahead of this machine's`],
    ...Object.entries(clients).map(([name, version]) => ["client", `${name} ${version}`] as const),
    ["free", freeBytes === undefined ? undefined : sizeText(freeBytes)],
    ["cases", proofs && proofText(proofs)],
    ...(proofs?.failed ?? []).map(({ area, name, message }) => ["failed", `${area}: ${name}: ${message}`] as const),
    ...Object.entries(latencies ?? {}).map(([name, each]: [string, Latency]) => [name, latencyText(each)] as const),
    [
      "threads",
      `${plural(threads, "thread")} looked at, ${plural(damages.filter((each) => !isUnreadable(each)).length, "damage")}`,
    ],
    ...damages.map(
      (each) => [isUnreadable(each) ? "unreadable" : "damaged", `${each.threadId}: ${each.message}`] as const,
    ),
  ];
  await printer.facts(facts, {
    ...surroundings,
    cases: proofs,
    latency: latencies,
    threads,
    damages,
    leftBehind: left,
  });
}

function proofText({ passed, failed, notApplicable, lacks }: Proofs): string {
  const rest = notApplicable === 0 ? "" : `, ${notApplicable} not applicable (need ${lacks.join(", ")})`;
  return `${passed} passed, ${failed.length} failed${rest}`;
}

const latencyText = ({ p50Ms, p95Ms, p99Ms, calls }: Latency): string =>
  `p50 ${p50Ms} ms, p95 ${p95Ms} ms, p99 ${p99Ms} ms (${calls} calls)`;
