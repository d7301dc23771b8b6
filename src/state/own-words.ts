/**
 * What of a message its author says, line by line: code, quotations and pasted mail are someone else's words. A mail is
 * known by its head in any language, and everything behind the head is taken for part of it.
 */
export function ownWords(text: string): string {
  const own: string[] = [];
  let isCode = false;
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/);
  for (const [index, line] of lines.entries()) {
    const trimmed = line.trim();
    if (trimmed.startsWith("```")) {
      // A fence that opens and closes in one line is no block.
      if (trimmed.length === 3 || !trimmed.slice(3).includes("```")) isCode = !isCode;
      own.push("");
      continue;
    }
    if (isCode || trimmed.startsWith(">")) own.push("");
    else if (isHeadOfMail(lines, index)) break;
    else own.push(line);
  }
  return own.join("\n");
}

/** "---- Forwarded message ----", "On Monday, Ann <ann@example.org> wrote:", or the fields of a mail, two or more in a row. */
function isHeadOfMail(lines: readonly string[], index: number): boolean {
  const line = (lines[index] ?? "").trim();
  if (line.length > LONGEST_HEAD) return false;
  if (line.endsWith(":") && hasAddress(line)) return true;
  if (/^[-_=]{3}/.test(line) && /[-_=]{3}$/.test(line) && /\p{L}/u.test(line)) return true;
  if (!isField(line)) return false;
  let [fields, addresses] = [0, 0];
  for (let at = index; isField((lines[at] ?? "").trim()) && fields < MOST_FIELDS; at++, fields++) {
    if (hasAddress(lines[at] ?? "")) addresses++;
  }
  return (fields >= 2 && addresses > 0) || (fields >= 3 && SENDER.test(line));
}

const LONGEST_HEAD = 1_000;
const MOST_FIELDS = 6;
const LONGEST_LABEL = 24;

/** "Subject: Lunch", "Betreff: Mittagessen", "件名：昼食". */
function isField(line: string): boolean {
  const end = line.search(/[:\uff1a]/);
  return end > 0 && end <= LONGEST_LABEL && end < line.length - 1 && /^[\p{L}\p{M} -]+$/u.test(line.slice(0, end));
}

const hasAddress = (line: string): boolean => {
  const at = line.indexOf("@");
  return at > 0 && /[^\s<("']/.test(line[at - 1] ?? " ") && /[\p{L}\p{N}]/u.test(line[at + 1] ?? " ");
};

/** How the first field of a mail's head is called where it names a sender without an address. */
const SENDER =
  /^(?:from|sender|von|absender|de|da|mittente|van|från|fra|od|lähettäjä|kimden|от|від|из|από|发件人|寄件者|差出人|보낸 사람|보낸사람|מאת|من)\s*[:\uff1a]/iu;
