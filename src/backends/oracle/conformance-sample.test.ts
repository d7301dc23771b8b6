import { proveOracleSaver, proveOracleStore } from "../../../test/oracle-stand-in/suites.ts";

// A sample for `npm test`; `npm run test:all` has all of both.
await proveOracleSaver(12);
await proveOracleStore(12);
