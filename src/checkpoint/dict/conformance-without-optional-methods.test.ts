import { onMaps, testAdapter, testDictLog } from "../../../test/dict/conformance.ts";

testDictLog("dict storage without compareAndSave", onMaps("compareAndSave"));
testDictLog("dict storage without list", onMaps("list"));
testDictLog("dict storage without both", onMaps("list", "compareAndSave"));
testAdapter("dict storage without compareAndSave", onMaps("compareAndSave"));
testAdapter("dict storage without list", onMaps("list"));
