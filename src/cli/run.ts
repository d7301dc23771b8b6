import { openCheckpointer } from "../backends/open.ts";
import { openStore } from "../backends/open-store.ts";
import type { Checkpointer } from "../checkpoint/checkpointer.ts";
import { StateError } from "../errors.ts";
import { redact } from "../internal/redact.ts";
import type { CommandCall } from "./command.ts";
import { EXIT, type ExitCode, exitCodeOf, UsageError } from "./exit-codes.ts";
import { commandOf, type ParsedLine, parseLine } from "./grammar.ts";
import { commandHelp, generalHelp } from "./help.ts";
import { type Format, Printer } from "./output/printer.ts";
import { visible, visibleJson } from "./output/visible.ts";
import { secretsIn, storeUrlOf, withToken } from "./store-url.ts";
import { versionOfPackage } from "./version.ts";
import { Ended, type World } from "./world.ts";

/** Runs one command line to its end. Throws nothing: what went wrong is on stderr and in the exit code. */
export async function runLine(argv: readonly string[], world: World): Promise<ExitCode> {
  const secrets: string[] = [];
  let parsed: ParsedLine | undefined;
  try {
    const [first, ...others] = argv;
    const isHelpCommand = first === "help" && others.length > 0;
    if (first === undefined || (["help", "--help", "-h"].includes(first) && !isHelpCommand)) {
      const isAskedFor = first !== undefined;
      await (isAskedFor ? world.stdout : world.stderr).write(`${generalHelp()}\n`);
      return isAskedFor ? EXIT.done : EXIT.usage;
    }
    if (first === "--version") {
      await world.stdout.write(`${await versionOfPackage()}\n`);
      return EXIT.done;
    }
    const { command, args } = commandOf(isHelpCommand ? [...others, "--help"] : argv);
    parsed = parseLine(command, args, world.env["HOLDFAST_STORE"]);
    if (parsed.options.flag("help")) {
      await world.stdout.write(`${commandHelp(command)}\n`);
      return EXIT.done;
    }
    return await runParsed(parsed, world, secrets);
  } catch (error) {
    const ended = endedBy(error, world);
    if (ended !== undefined) return ended;
    await complain(error, parsed, world, secrets);
    return exitCodeOf(error);
  }
}

/** A command that was told to end does not fail; how it says what to do next is its own part. */
function endedBy(error: unknown, { signal }: World): ExitCode | undefined {
  const reason: unknown = error instanceof Ended ? error : signal.aborted ? signal.reason : undefined;
  if (!(reason instanceof Ended)) return undefined;
  return reason.by === "closed pipe" ? EXIT.done : reason.by === "SIGINT" ? EXIT.interrupted : EXIT.terminated;
}

async function runParsed(parsed: ParsedLine, world: World, secrets: string[]): Promise<ExitCode> {
  const { command, options, given, rest } = parsed;
  const stores: string[] = [];
  for (const named of parsed.stores) {
    const url = await withToken(storeUrlOf(named, world.env), options.text("token-file"), world.env);
    secrets.push(...secretsIn(url));
    stores.push(url);
  }
  const others = namedStores(parsed);
  for (const named of others) secrets.push(...secretsIn(storeUrlOf(named, world.env)));
  const note = async (text: string): Promise<void> => world.stderr.write(`${redact(visible(text), secrets)}\n`);
  if ([...parsed.stores, ...others].some((named) => secretsIn(named).length > 0)) {
    await note("holdfast: a password on the command line is seen by others on this machine; env:NAME keeps it out");
  }
  const opened: { close(): Promise<void> }[] = [];
  const openAs = async (url: string, access: "read" | "write"): Promise<Checkpointer> => {
    const checkpointer = await openCheckpointer(url, { access, now: world.now });
    opened.push(checkpointer);
    return checkpointer;
  };
  const openOther: CommandCall["openOther"] = async (url, access) => {
    // Opening for writing makes a store that is not there: a mistyped name must not.
    if (access === "write") await (await openAs(url, "read")).exists("-");
    return openAs(url, access);
  };
  const open: CommandCall["open"] = async (access = "read", which = 0) => {
    const url = stores[which] ?? "";
    return access === "create" ? openAs(url, "write") : openOther(url, access);
  };
  const openItems: CommandCall["openItems"] = async (access = "read", url = stores[0] ?? "") => {
    const store = await openStore(url, { access });
    opened.push(store);
    return store;
  };
  const printer = new Printer(world, {
    format: formatOf(parsed, world),
    wide: options.flag("wide"),
    colour: hasColour(parsed, world),
  });
  try {
    const { run } = await command.load();
    return await run({ world, printer, given, rest, options, stores, open, openOther, openItems, note });
  } finally {
    for (const one of opened) await one.close();
  }
}

/** Those that options name. */
const namedStores = ({ command, options }: ParsedLine): readonly string[] =>
  Object.entries(command.options)
    .filter(([, { isStore }]) => isStore === true)
    .flatMap(([name]) => options.text(name) ?? options.list(name));

function formatOf({ options }: ParsedLine, { stdout }: World): Format {
  if (options.flag("json")) return "json";
  return (options.text("output") as Format | undefined) ?? (stdout.isTerminal ? "table" : "tsv");
}

function hasColour({ options }: ParsedLine, { env, stdout }: World): boolean {
  const when = options.text("color") ?? "auto";
  if (when !== "auto") return when === "always";
  if (isSet(env["NO_COLOR"])) return false;
  if (isSet(env["FORCE_COLOR"])) return env["FORCE_COLOR"] !== "0";
  return stdout.isTerminal && env["TERM"] !== "dumb";
}

const isSet = (value: string | undefined): boolean => value !== undefined && value !== "";

async function complain(
  error: unknown,
  parsed: ParsedLine | undefined,
  world: World,
  secrets: string[],
): Promise<void> {
  const message = redact(error instanceof Error ? error.message : String(error), secrets);
  const known = StateError.is(error) ? error : undefined;
  const wantsJson = parsed !== undefined && ["json", "ndjson"].includes(formatOf(parsed, world));
  if (wantsJson) {
    const code = known?.code ?? (error instanceof UsageError ? "INVALID_ARGUMENT" : "UNKNOWN");
    const context = redactedContext(known?.context ?? {}, secrets);
    const told = { code, message, context, retryable: known?.retryable ?? false };
    await world.stderr.write(`${visibleJson({ error: told })}\n`);
    return;
  }
  const hint =
    error instanceof UsageError ? error.hint : known?.code === "MISSING_DEPENDENCY" ? peerLine(message) : undefined;
  await world.stderr.write(`holdfast: ${visible(message)}\n`);
  if (hint !== undefined) await world.stderr.write(`${visible(hint)}\n`);
  if (parsed?.options.flag("debug") !== true) return;
  if (known !== undefined)
    await world.stderr.write(`${redact(JSON.stringify({ code: known.code, ...known.context }), secrets)}\n`);
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    await world.stderr.write(
      `${redact((cause.stack ?? cause.message).split("\n").map(visible).join("\n"), secrets)}\n`,
    );
  }
}

/** Value by value: what is hidden in the text of a document may take its quotes along. */
const redactedContext = (context: object, secrets: readonly string[]): object =>
  Object.fromEntries(
    Object.entries(context).map(([name, value]) => [name, typeof value === "string" ? redact(value, secrets) : value]),
  );

/** `npx` brings no database client: the line that does. */
function peerLine(message: string): string | undefined {
  const [, wanted] = /npm install "([^"]+)"/.exec(message) ?? [];
  return wanted === undefined ? undefined : `or without installing it: npx -p holdfast -p "${wanted}" holdfast …`;
}
