import { close, open, read, readFile } from "node:fs";
import { promisify } from "node:util";

// The functions with callbacks: a history is many small files, and those with promises take half as long again.
const [openFile, closeFile] = [promisify(open), promisify(close)];
const readFrom = promisify(read);
const readAll = promisify(readFile);

export const readWholeFile = (path: string): Promise<Buffer> => readAll(path);

/** At most so many bytes from the beginning of a file. */
export async function readBeginning(path: string, length: number): Promise<Buffer> {
  const file = await openFile(path, "r");
  try {
    const { bytesRead, buffer } = await readFrom(file, Buffer.allocUnsafe(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await closeFile(file);
  }
}
