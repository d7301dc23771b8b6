import { type ErrorCode, reasonOf, StateError } from "../../errors.ts";
import { sqlState } from "./classify.ts";

interface Hint {
  readonly when: (facts: { readonly code: string; readonly message: string; readonly syscall: unknown }) => boolean;
  readonly code: ErrorCode;
  readonly what: string;
}

/** Error codes for a refused certificate: https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const CERTIFICATE = /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS_CERT_|HOSTNAME_MISMATCH$|INVALID_CA$)/;

/** Configuration mistakes that the client or the server reports in words that do not help. */
const HINTS: readonly Hint[] = [
  {
    when: ({ message }) => /client password must be/.test(message),
    code: "PERMISSION_DENIED",
    what: "the server asks for a password and there is none: put it into the dsn (postgres://user:password@host/database), into PGPASSWORD or into a password file",
  },
  {
    when: ({ message }) => /server does not support SSL/.test(message),
    code: "INVALID_ARGUMENT",
    what: "turn SSL on at the server, or take sslmode out of the dsn where the network is trusted",
  },
  {
    when: ({ code, message }) => code === "28000" && /no (encryption|SSL)|SSL off/i.test(message),
    code: "PERMISSION_DENIED",
    what: "the server takes no connection without SSL here: add ?sslmode=verify-full to the dsn",
  },
  {
    when: ({ code }) => CERTIFICATE.test(code),
    code: "PERMISSION_DENIED",
    what: "the server's certificate is not trusted: name its authority with ?sslrootcert=/path/ca.pem in the dsn, and the host as the certificate does",
  },
  {
    when: ({ code, syscall }) =>
      ["ENOENT", "EACCES", "EISDIR"].includes(code) && (syscall === "open" || syscall === "read"),
    code: "INVALID_ARGUMENT",
    what: "a file that the dsn names (sslrootcert, sslcert, sslkey) cannot be read",
  },
  {
    when: ({ code }) => code === "42939" || code === "42602",
    code: "INVALID_ARGUMENT",
    what: "choose another schema: names that begin with pg_ are the server's own",
  },
  {
    when: ({ message }) => /unsupported startup parameter/.test(message),
    code: "INVALID_ARGUMENT",
    what: "the pooler does not take what the dsn sets: take it out of the dsn, or add it to the pooler's ignore_startup_parameters",
  },
  {
    when: ({ code }) => code === "25006",
    code: "UNAVAILABLE",
    what: "this server only reads: connect to the primary",
  },
];

/** The same error, or one that says what to do where that is known. */
export function explained(error: unknown): unknown {
  if (StateError.is(error)) return error;
  const message = reasonOf(error);
  const facts = { code: sqlState(error) ?? "", message, syscall: (error as { syscall?: unknown } | null)?.syscall };
  const hint = HINTS.find(({ when }) => when(facts));
  return hint === undefined ? error : new StateError(hint.code, `${message}: ${hint.what}`, { cause: error });
}
