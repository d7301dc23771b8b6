/** What a server of Oracle's says where PostgreSQL says this. */
const BY_STATE: Readonly<Record<string, readonly [number: number, text: string]>> = {
  "23505": [1, "unique constraint violated"],
  "23502": [1400, "cannot insert NULL"],
  "23503": [2291, "integrity constraint violated - parent key not found"],
  "23514": [2290, "check constraint violated"],
  "40P01": [60, "deadlock detected while waiting for resource"],
  "40001": [8177, "can't serialize access for this transaction"],
  "55P03": [54, "resource busy and acquire with NOWAIT specified or timeout expired"],
  "57014": [1013, "user requested cancel of current operation"],
  "57P01": [3113, "end-of-file on communication channel"],
  "57P03": [1033, "ORACLE initialization or shutdown in progress"],
  "53100": [1653, "unable to extend table"],
  "42P01": [942, "table or view does not exist"],
  "3F000": [942, "table or view does not exist"],
  "42703": [904, "invalid identifier"],
  "42P07": [955, "name is already used by an existing object"],
  "42701": [1430, "column being added already exists in table"],
  "42622": [972, "identifier is too long"],
  "22003": [1438, "value larger than specified precision allowed for this column"],
  OT879: [29879, "cannot create multiple domain indexes on a column list using same indextype"],
  "28P01": [1017, "invalid credential or not authorized; logon denied"],
  "28000": [1017, "invalid credential or not authorized; logon denied"],
};

export interface OracleError {
  readonly num: number;
  readonly message: string;
}

/** The error as Oracle numbers it; nothing where it is the line that failed, or no error of a server's. */
export function oracleError(error: unknown, isBlock: boolean): OracleError | undefined {
  const {
    code,
    message = "",
    constraint = "",
  } = (error ?? {}) as { code?: string; message?: string; constraint?: string };
  if (code === undefined || !/^[0-9A-Z]{5}$/.test(code)) return undefined;
  if (/^OR\d{3}$/.test(code)) return said(20_000 + Number(code.slice(2)), message);
  if (code === "23514" && /^(varchar2|raw)_\d+_check$/.test(constraint)) {
    return isBlock
      ? said(6502, "PL/SQL: value or conversion error: character string buffer too small")
      : said(12899, `value too large for column (${constraint})`);
  }
  if (code === "22000" && /^expected \d+ dimensions/.test(message))
    return said(51803, `Vector dimension count must match (${message})`);
  // Without any right on a table it is not even there.
  if (code === "42501")
    return /schema/.test(message) ? said(1031, "insufficient privileges") : said(942, "table or view does not exist");
  // A statement that the rewrite left in Oracle's syntax: the message helps the author of a changed
  // statement.
  if (code === "42601") return said(900, `invalid SQL statement (${message})`);
  const [num, text] = BY_STATE[code] ?? [600, `internal error code, arguments: [stand-in], [${code}], [${message}]`];
  return said(num, isBlock ? `${text}\nORA-06512: at line 1` : text);
}

export const said = (num: number, text: string): OracleError => ({
  num,
  message: `ORA-${String(num).padStart(5, "0")}: ${text}`,
});
