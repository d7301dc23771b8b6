import { proveOracleSaver } from "../../../test/oracle-stand-in/suites.ts";

// saver.test.ts has random operations; LangGraph's own suite is a campaign.
await proveOracleSaver(1);
