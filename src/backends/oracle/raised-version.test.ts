import { describeWithStandIn } from "../../../test/oracle-stand-in/with-oracle.ts";
import { raisedVersionIsNoticed } from "../../../test/raised-version.ts";
import { OracleStore, oracleCheckpointer } from "./index.ts";

await describeWithStandIn(({ dsn, user, password, tableName, sql }) => {
  raisedVersionIsNoticed(async () => {
    const options = { dsn, user, password };
    const tables = { checkpoints: tableName(), store: tableName() };
    return {
      checkpointer: oracleCheckpointer({ ...options, tableName: tables.checkpoints }),
      store: new OracleStore({ ...options, tableName: tables.store }),
      raise: (part, version) =>
        sql(`UPDATE ${user}.${tables[part]}_schema SET version = ${version} WHERE part = '${part}'`),
    };
  });
});
