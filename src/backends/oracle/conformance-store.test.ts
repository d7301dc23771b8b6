import { proveOracleStore } from "../../../test/oracle-stand-in/suites.ts";

await proveOracleStore(1);
