import { open, readFile, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { invalid } from "../../driver/options.ts";
import { type ErrorCode, StateError } from "../../errors.ts";
import { nodeCrypto } from "../../internal/node-builtins.ts";
import { KEY_BYTES, openBox, sealBox } from "./box.ts";

/** A key as it is stored: only its provider can unwrap it. */
export interface WrappedKey {
  /** Which of the provider's keys it was wrapped with. A name, never the key. */
  readonly by: string;
  /** In base64. */
  readonly wrapped: string;
}

/**
 * The holder of the outermost keys: a file, the environment, a key management
 * service. It is called when a keyring is opened or rotated, and not for a save or a
 * load, but for the first one after a rotation elsewhere. `place` is passed again to
 * `unwrap`: a key that was wrapped for one keyring opens in no other.
 */
export interface KeyProvider {
  /** Its name in errors; without secrets. */
  readonly name: string;
  wrap(key: Uint8Array, place: Uint8Array): Promise<WrappedKey>;
  /** Throws `PERMISSION_DENIED` if it no longer has such a key. */
  unwrap(wrapped: WrappedKey, place: Uint8Array): Promise<Uint8Array>;
}

/** A new outermost key, as a line of a key file or the value of a variable. */
export const newOuterKey = (): string => nodeCrypto().randomBytes(KEY_BYTES).toString("base64");

/**
 * Keys in an environment variable, separated by commas or line ends: the first
 * wraps, the others still unwrap. Read again for each use.
 */
export const environmentKeys = (variable: string): KeyProvider => {
  if (typeof variable !== "string" || variable === "") throw invalid("environmentKeys() takes the name of a variable");
  const name = `the variable ${variable}`;
  return localKeys(name, async () => {
    const text = process.env[variable];
    if (text !== undefined && text.trim() !== "") return text;
    throw lost(name, "it is not set");
  });
};

/**
 * Keys in a file, one per line: the first wraps, the others still unwrap.
 * `createKeyFile` makes one. A file that others may read is refused.
 */
export const fileKeys = (path: string): KeyProvider => {
  if (typeof path !== "string" || path === "") throw invalid("fileKeys() takes the path of a key file");
  const name = `the key file ${JSON.stringify(path)}`;
  return localKeys(name, () => readKeyFile(path, name));
};

/** Writes a file with one new key, and returns when it is on the disk. An existing file is refused and not changed. */
export async function createKeyFile(path: string): Promise<void> {
  if (typeof path !== "string" || path === "") throw invalid("createKeyFile() takes the path of a key file");
  const name = `the key file ${JSON.stringify(path)}`;
  const file = await open(path, "wx", 0o600).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "EEXIST") throw troubleWith(path, cause);
    throw new StateError("CONFLICT", `${name} is there already; it was left as it is`, { location: path });
  });
  try {
    await file.writeFile(`${newOuterKey()}\n`);
    await file.sync();
    await syncFolder(dirname(path));
  } catch (cause) {
    // A file without a whole key would stand in the way of the next attempt.
    await unlink(path).catch(() => undefined);
    throw troubleWith(path, cause as NodeJS.ErrnoException);
  } finally {
    await file.close();
  }
}

/** So that the file's name outlives a power cut, too: without the key nothing opens. Windows has no such call. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function readKeyFile(path: string, name: string): Promise<string> {
  try {
    const { mode } = await stat(path);
    if (process.platform !== "win32" && (mode & 0o077) !== 0) {
      const message = `${name} can be read by others; let only its owner do so (chmod 600)`;
      throw new StateError("PERMISSION_DENIED", message, { location: path });
    }
    return await readFile(path, "utf8");
  } catch (error) {
    if (StateError.is(error)) throw error;
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw lost(name, "it is not there");
    throw troubleWith(path, error as NodeJS.ErrnoException);
  }
}

const CODES: Readonly<Record<string, ErrorCode>> = {
  EACCES: "PERMISSION_DENIED",
  EPERM: "PERMISSION_DENIED",
  EROFS: "PERMISSION_DENIED",
  ENOSPC: "STORAGE_FULL",
  EDQUOT: "STORAGE_FULL",
  ENOENT: "INVALID_ARGUMENT",
  ENOTDIR: "INVALID_ARGUMENT",
  EISDIR: "INVALID_ARGUMENT",
};

function troubleWith(path: string, cause: NodeJS.ErrnoException): StateError {
  const code = CODES[cause.code ?? ""] ?? "UNAVAILABLE";
  return new StateError(code, `the key file ${JSON.stringify(path)}: ${cause.message}. Nothing was written`, {
    location: path,
    cause,
  });
}

const lost = (name: string, why: string): StateError =>
  new StateError(
    "NOT_FOUND",
    `${name} is needed to open what is sealed: ${why}. Restore it from where it is kept; nothing was written, and nothing must be: a new key does not open the existing data`,
  );

interface OuterKey {
  readonly id: string;
  readonly key: Buffer;
}

function localKeys(name: string, read: () => Promise<string>): KeyProvider {
  const keys = async (): Promise<readonly OuterKey[]> => parseKeys(name, await read());
  return {
    name,
    async wrap(key, place) {
      const [current] = await keys();
      if (current === undefined) throw lost(name, "it holds no key");
      return { by: current.id, wrapped: sealBox(current.key, key, place).toString("base64") };
    },
    async unwrap({ by, wrapped }, place) {
      const found = (await keys()).find(({ id }) => id === by);
      if (found === undefined) {
        const message = `${name} no longer holds the key ${by}, which this keyring was wrapped with: bring it back as a further line`;
        throw new StateError("PERMISSION_DENIED", message);
      }
      const key = openBox(found.key, Buffer.from(wrapped, "base64"), place);
      if (key !== undefined) return key;
      throw new StateError("CORRUPT", `a key of the keyring was damaged or belongs to another one (${name})`);
    },
  };
}

function parseKeys(name: string, text: string): readonly OuterKey[] {
  const lines = text.split(/[,\n\r]+/).map((line) => line.trim());
  return lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const key = Buffer.from(line, "base64");
      if (key.byteLength !== KEY_BYTES || key.toString("base64") !== line) {
        throw invalid(`${name} must hold keys of ${KEY_BYTES} bytes in base64, such as newOuterKey() makes`);
      }
      return {
        id: nodeCrypto().createHash("sha256").update("holdfast outer key").update(key).digest("hex").slice(0, 12),
        key,
      };
    });
}
