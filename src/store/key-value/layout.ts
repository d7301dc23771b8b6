import { nodeCrypto } from "../../internal/node-builtins.ts";
import { decodeId, encodeId, encodeNamespace } from "../driver/namespaces.ts";
import type { ItemId, Namespace } from "../driver/store-driver.ts";

/**
 * How items lie in a bucket.
 *
 *   <prefix>items/users-u1--/profile            one object for each item: of ["users", "u1"], the key "profile"
 *   <prefix>items/users-u1-notes--/a.d7         of ["users", "u1", "notes"], the key "a-7"
 *   <prefix>batches/6b1f22c09d7e4a31…           one for each batch that is under way or was interrupted, else none
 *   <prefix>removed/9f86d081884c7d65…           the last writes of an item that an erasure took out, under a hash of its name
 *   <prefix>vectors                             vectors were put here, so it is worth looking for them
 *
 * An object is two lines of JSON: the format and a checksum of the second line, then
 *
 *   id        the namespace and the key
 *   revision  random: no two objects are equal, so no version of an object comes again
 *   item      what is there now; none after a removal
 *   writes    the writes of the last ten minutes and what each answered, so that a repeated one is recognised
 *   pending   a write that is under way and does not count yet: what it will leave, and who decides whether it does
 *
 * Names sort like ids: a separator sorts before what may stand in a segment, and a character that
 * is written otherwise keeps its place among its neighbours. Of a longer name a part and
 * a hash stand there; those that share the part are sorted when they are read.
 *
 * Writes, and why each is all or nothing:
 *
 * 1. One item: one conditional PUT on the version that was read.
 * 2. One item, on condition that others are not there (a gate, a hold): the write is put as `pending`; the others
 *    are looked at; a second PUT on the version of the first makes it count. A reader of the item in between waits, and
 *    after `patienceMs` removes the pending write, so that the second PUT is refused. So a writer that looked
 *    before a gate was placed cannot write after another process looked behind the gate.
 * 3. Several items: a batch object says "open"; every item gets its `pending`, which names the batch; conditions are looked at;
 *    one PUT on the batch object's version says "committed". That PUT is the commit: from then on each reader takes
 *    `pending` for what is there, and writes it so. Afterwards the batch object goes. To give a batch up, its object is
 *    made to say "aborted" by the same kind of PUT, so it either commits or is given up, whichever process sleeps or is killed,
 *    and wherever. A pending write whose batch object is not there was given up: a commit cannot come after that,
 *    because it needs the object, and an item whose batch was committed was finished before the object went.
 *
 * A removal leaves an object without an item, which remembers the writes; it is deleted, on its version, by the
 * first listing ten minutes later. A bucket that cannot delete on condition keeps it.
 */

/** Written into every object. A newer one is refused. */
export const ITEM_FORMAT = 1;

/** Of a folder, and of a name in it. Services that keep objects as files need room for names of their own: 255 is what a file system takes. */
const LONGEST_PART = 200;
/** Of a longer one, so much stands before the hash. */
const HEAD = 150;

/** Full names of objects, below one prefix. */
export class Layout {
  readonly items: string;
  readonly batches: string;
  readonly removed: string;
  readonly vectors: string;

  constructor(prefix: string) {
    this.items = `${prefix}items/`;
    this.batches = `${prefix}batches/`;
    this.removed = `${prefix}removed/`;
    this.vectors = `${prefix}vectors`;
  }

  item(id: ItemId): string {
    return this.items + nameOf(id);
  }

  writesOfRemoved(id: ItemId): string {
    return this.removed + hash(encodeId(id));
  }

  /** What the names of all items in a namespace begin with; with `recursive`, also of those below it. Others may begin so too. */
  beginning(namespace: Namespace, recursive: boolean): string {
    const plain = escaped(encodeNamespace(namespace));
    if (!recursive) return `${this.items}${folderOf(namespace)}/`;
    return this.items + plain.slice(0, HEAD);
  }

  /** Names behind this one hold all items behind the id, and perhaps some before it. */
  before(id: ItemId): string {
    const name = nameOf(id);
    const head = headOfName(name);
    return this.items + (head ?? name);
  }

  /** The part that a name shares with those among which it has no place until they are read; `undefined` where it has one. */
  sharedHead(name: string): string | undefined {
    return headOfName(name.slice(this.items.length));
  }

  /** The folder of a name, with a slash: all items of one namespace are in one. */
  folderOf(name: string): string {
    return name.slice(0, name.indexOf("/", this.items.length) + 1);
  }

  /** The part of a folder that it shares with those among which it has no place until they are read. */
  sharedFolder(name: string): string | undefined {
    const folder = this.folderOf(name).slice(this.items.length);
    return folder.length > HEAD ? folder.slice(0, HEAD) : undefined;
  }

  /** Behind all names of a folder. */
  behindFolder(folder: string): string {
    return `${folder}~~~`;
  }

  /** Names behind this one hold all namespaces behind this one. */
  behind(namespace: Namespace): string {
    const folder = `${this.items}${folderOf(namespace)}/`;
    const shared = this.sharedFolder(folder);
    return shared === undefined ? this.behindFolder(folder) : this.items + shared;
  }

  /** The id that a name is made of; `undefined` where a part of it is a hash, and where it is no name of an item. */
  idOf(name: string): ItemId | undefined {
    const [folder = "", key = "", ...more] = name.slice(this.items.length).split("/");
    if (more.length > 0 || !folder.endsWith("-") || isCut(folder) || isCut(key)) return undefined;
    const id = decodeId(`${unescaped(folder.slice(0, -1))}\u0001${unescaped(key)}`);
    return isWritable(id) && this.item(id) === name ? id : undefined;
  }

  /** For errors about an object that does not say which item it is of. */
  shownId(name: string): ItemId {
    const known = this.idOf(name);
    if (known !== undefined) return known;
    const [folder = "", key = ""] = name.slice(this.items.length).split("/");
    return { namespace: [readable(folder)], key: readable(key) };
  }

  isItem(name: string): boolean {
    return name.startsWith(this.items) && ITEM_NAME.test(name.slice(this.items.length));
  }
}

const ITEM_NAME = /^[-.0-9_a-z~]+\/[.0-9_a-z~]+$/;

function folderOf(namespace: Namespace): string {
  const plain = escaped(encodeNamespace(namespace));
  return plain.length <= LONGEST_PART ? `${plain}-` : cut(plain, encodeNamespace(namespace));
}

function nameOf({ namespace, key }: ItemId): string {
  const plain = escaped(key);
  return `${folderOf(namespace)}/${plain.length <= LONGEST_PART ? plain : cut(plain, key)}`;
}

const cut = (plain: string, whole: string): string => `${plain.slice(0, HEAD)}~~${hash(whole)}`;

/** No plain part has two of these in a row. */
const isCut = (part: string): boolean => part.slice(HEAD, HEAD + 2) === "~~";

function headOfName(name: string): string | undefined {
  const slash = name.indexOf("/");
  if (slash >= HEAD) return name.slice(0, HEAD);
  return name.length - slash > HEAD ? name.slice(0, slash + 1 + HEAD) : undefined;
}

/** Letters a to z and digits stay. Each other byte has a sign that sorts as it does, then what it is in hexadecimal digits. */
function escaped(text: string): string {
  let plain = "";
  for (const byte of Buffer.from(text)) {
    if (byte === 0x1f) plain += "-";
    else if (byte < 0x30) plain += `.${(byte & 0xf).toString(16)}`;
    else if (byte < 0x3a || (byte > 0x60 && byte < 0x7b)) plain += String.fromCharCode(byte);
    else plain += `${byte < 0x61 ? "_" : "~"}${byte.toString(16)}`;
  }
  return plain;
}

function unescaped(plain: string): string {
  const bytes: number[] = [];
  for (const [part] of plain.matchAll(/\.[0-9a-f]|[_~][0-9a-f]{2}|./gs)) {
    if (part === "-") bytes.push(0x1f);
    else if (part.length === 2) bytes.push(0x20 + Number.parseInt(part.slice(1), 16));
    else bytes.push(part.length === 3 ? Number.parseInt(part.slice(1), 16) : part.charCodeAt(0));
  }
  return Buffer.from(bytes).toString();
}

const readable = (part: string): string =>
  isCut(part) ? `${readable(part.slice(0, HEAD))}…` : unescaped(part).replace(/[\u0000-\u001f]/g, "/");

/** Whether this package can have made the name: ids have no such characters. */
const isWritable = ({ namespace, key }: ItemId): boolean =>
  ![...namespace, key].some((part) => /[\u0000-\u001f]/.test(part));

const hash = (text: string): string =>
  nodeCrypto().createHash("sha256").update(text, "utf8").digest("hex").slice(0, 40);

/** Never used again. */
export const newRandomName = (): string => nodeCrypto().randomBytes(12).toString("hex");
