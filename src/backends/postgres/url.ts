import { assertParameters } from "../../driver/url.ts";
import { assertDsn } from "./connect.ts";

const OWN_PARAMETERS = ["schema", "tablePrefix"];
/** The parameters that `pg` understands. */
const CLIENT_PARAMETERS = [
  ...["user", "password", "host", "port", "application_name", "client_encoding", "options", "connect_timeout"],
  ...["sslmode", "sslcert", "sslkey", "sslrootcert", "sslnegotiation", "uselibpqcompat", "ssl"],
];

/** The contents of a URL. */
export interface PostgresUrl {
  readonly dsn: string;
  readonly schema?: string;
  readonly tablePrefix?: string;
}

/** `postgres://user:password@host:5432/database`; `?schema=` and `tablePrefix=` are ours, all other parameters are `pg`'s. */
export function parsePostgresUrl(url: string): PostgresUrl {
  assertDsn(url);
  const [place = "", query = ""] = url.split("?");
  const parameters = new URLSearchParams(query);
  assertParameters(url, Object.fromEntries(parameters), [...OWN_PARAMETERS, ...CLIENT_PARAMETERS]);
  const [schema, tablePrefix] = OWN_PARAMETERS.map((name) => parameters.get(name));
  for (const name of OWN_PARAMETERS) parameters.delete(name);
  return {
    dsn: parameters.size === 0 ? place : `${place}?${parameters}`,
    ...(schema != null && { schema }),
    ...(tablePrefix != null && { tablePrefix }),
  };
}
