CREATE TABLE HOLDFAST_SCHEMA (part VARCHAR2(64 BYTE) NOT NULL PRIMARY KEY, version NUMBER(6) NOT NULL);

MERGE INTO HOLDFAST_SCHEMA t USING (SELECT 'checkpoints' part, 1 version FROM dual) n ON (t.part = n.part)
WHEN MATCHED THEN UPDATE SET t.version = n.version
WHEN NOT MATCHED THEN INSERT (part, version) VALUES (n.part, n.version);
