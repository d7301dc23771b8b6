import { backendOf } from "../../../backends/open.ts";
import type { TablesModule } from "../../../backends/registry.ts";
import { callDriver } from "../../../driver/call.ts";
import { migrationsFrom, type Part, partsNamed, type Versions } from "../../../driver/migrations.ts";
import type { OpenTables } from "../../../driver/open-tables.ts";
import type { CommandCall } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-codes.ts";
import { visibleLines } from "../../output/visible.ts";
import { secretsIn } from "../../store-url.ts";

type What = "check" | "print" | "apply";

/** Shows which tables are due, or the statements, or runs them. Unless it is told to run them, it opens the store for looking. */
export async function run(call: CommandCall): Promise<ExitCode> {
  const { options, note, stores } = call;
  const what = whatOf(call);
  const url = stores[0] ?? "";
  const { title, tables } = backendOf(url);
  if (tables === undefined) {
    await note(`${title} has no tables: there is nothing to migrate`);
    return EXIT.done;
  }
  const module = await tables();
  const names = options.text("parts")?.split(",");
  const { parts, found, statements } = await called(call, module, title, async () => {
    const opened = await module.openTables(url, what === "apply" ? "write" : "read");
    try {
      const there = await opened.versions();
      const wanted = partsNamed(names ?? presentParts(opened, there), opened.parts);
      // Refuses tables of a newer build.
      const due = migrationsFrom(there, wanted, opened.table);
      if (what === "apply") await opened.migrate(wanted);
      return { parts: wanted, found: there, statements: due };
    } finally {
      await opened.close();
    }
  });
  return what === "print" ? print(call, statements) : report(call, what, parts, found);
}

function whatOf({ options }: CommandCall): What {
  const given = (["check", "print", "apply"] as const).filter((name) => options.flag(name));
  if (given.length > 1) throw new UsageError(`--${given.join(" and --")} exclude each other`);
  const [what = "check"] = given;
  return what === "apply" && options.flag("dry-run") ? "print" : what;
}

/** The parts that are there; all of them where no table is. */
const presentParts = ({ parts }: OpenTables, found: Versions | undefined): readonly string[] | undefined =>
  found === undefined ? undefined : parts.map(({ name }) => name).filter((name) => Object.hasOwn(found, name));

/** Errors of clients become those of the library, without the password; what may pass is tried again. */
function called<T>(
  { stores, world }: CommandCall,
  module: TablesModule,
  title: string,
  work: () => Promise<T>,
): Promise<T> {
  const { classify } = module;
  const driver = { name: title.toLowerCase(), secrets: secretsIn(stores[0] ?? ""), classify };
  return callDriver(driver, {}, { operation: "migrate" }, work, world.signal);
}

async function print({ printer, note }: CommandCall, statements: readonly string[]): Promise<ExitCode> {
  if (["json", "ndjson"].includes(printer.format)) await printer.document({ statements });
  else for (const statement of statements) await printer.text(`${visibleLines(statement)};\n`);
  if (statements.length === 0) await note("the tables are up to date");
  return EXIT.done;
}

async function report(
  { printer }: CommandCall,
  what: What,
  parts: readonly Part[],
  found: Versions | undefined,
): Promise<ExitCode> {
  const rows = parts.map(({ name, migrations }) => {
    const [version, newest] = [found?.[name] ?? 0, migrations.length];
    return { part: name, version, newest, isDue: version < newest, applied: what === "apply" && version < newest };
  });
  await printer.list({
    items: rows,
    columns: [
      { title: "part", cell: ({ part }) => part },
      { title: "version", cell: ({ version }) => (version === 0 ? "not there" : version), align: "right" },
      { title: "newest", cell: ({ newest }) => newest, align: "right" },
      { title: "what", cell: ({ isDue, applied }) => (applied ? "done" : isDue ? "due" : "up to date") },
    ],
    json: (row) => row,
    id: ({ part }) => part,
  });
  return what === "check" && rows.some(({ isDue }) => isDue) ? EXIT.no : EXIT.done;
}
