import { close, fstat, open, read, readFile } from "node:fs";
import { promisify } from "node:util";

// The callback functions: those with promises take one and a half times as long.
const [openFd, closeFd, statFd] = [promisify(open), promisify(close), promisify(fstat)];
const readFrom = promisify(read);
const readAll = promisify(readFile);

export const readWholeFile = (path: string): Promise<Buffer> => readAll(path);

/** At most this many bytes from the beginning of a file. */
export async function readBeginning(path: string, length: number): Promise<Buffer> {
  const file = await openFd(path, "r");
  try {
    return await readAt(file, 0, length);
  } finally {
    await closeFd(file);
  }
}

export const openFile = (path: string): Promise<number> => openFd(path, "r");
export const closeFile = (file: number): Promise<void> => closeFd(file);
export const sizeOfFile = async (file: number): Promise<number> => (await statFd(file)).size;

/** Returns fewer bytes only at the end of the file. */
export async function readAt(file: number, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(length);
  for (let done = 0; done < length; ) {
    const { bytesRead } = await readFrom(file, buffer, done, length - done, position + done);
    if (bytesRead === 0) return buffer.subarray(0, done);
    done += bytesRead;
  }
  return buffer;
}
