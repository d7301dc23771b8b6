import { cp, rm } from "node:fs/promises";

/** Copies a folder as it is; the returned function puts the copy in its place, as a restored backup is. */
export async function folderCopy(folder: string): Promise<() => Promise<void>> {
  const copy = `${folder}-copy`;
  await cp(folder, copy, { recursive: true, preserveTimestamps: true });
  return async () => {
    await rm(folder, { recursive: true });
    await cp(copy, folder, { recursive: true, preserveTimestamps: true });
    await rm(copy, { recursive: true });
  };
}
