"""What schemathesis cannot know from the description alone: how frames are packed, and texts that only the service makes.

SCHEMATHESIS_HOOKS names this file; `npm run check:api` runs it. What is argued here is told in docs/http.md.
"""

import base64
import json
import struct
import zlib
from urllib.parse import quote

import schemathesis
from hypothesis import strategies as st

FRAME = "application/vnd.holdfast.frame"
# An id that a record carries is small here, or most of a run would be spent on moving bytes.
LARGEST_BODY = 4096


def in_path(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def as_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def in_quotes(text: str) -> str:
    return f'"{quote(text, safe="")}"'


letters = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
names = st.text(letters, min_size=1, max_size=40)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.text(letters, max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.sampled_from("abc"), max_size=4), inner, max_size=3),
    max_leaves=6,
)

places = st.tuples(names, st.integers(1, 9), names).map(
    lambda place: f'"{quote(place[0], safe="")}:{place[1]}:{quote(place[2], safe="")}"'
)
tags = st.lists(st.tuples(st.sampled_from(["", "W/"]), places).map("".join), min_size=1, max_size=3)

schemathesis.openapi.format("holdfast-id", names.map(in_path))
schemathesis.openapi.format("holdfast-json", plain.map(as_json))
schemathesis.openapi.format("holdfast-metadata", st.dictionaries(names, plain, max_size=3).map(as_json))
schemathesis.openapi.format("holdfast-entity-tags", st.just("*") | tags.map(", ".join))
schemathesis.openapi.format("holdfast-idempotency-key", names.map(in_quotes))
word = st.text(st.sampled_from("abcdefgäß_09"), min_size=1, max_size=12)
vectors = st.lists(st.floats(min_value=0.5, max_value=9, width=32), min_size=1, max_size=8)
schemathesis.openapi.format("holdfast-word", word)
schemathesis.openapi.format("holdfast-words", st.lists(word, max_size=5).map(" ".join))
schemathesis.openapi.format(
    "holdfast-vector", vectors.map(lambda numbers: base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode())
)
# Sealed by the service: whatever else stands in this place is refused, and rightly so.
schemathesis.openapi.format("holdfast-cursor", st.nothing())


def bodies_of(head: object) -> bytes:
    """As many bytes as the head names."""
    if not isinstance(head, dict):
        return b""
    replace = head.get("replace")
    records = [head.get("record"), *(replace if isinstance(replace, list) else [])]
    sizes = [record.get("bytes") for record in records if isinstance(record, dict)]
    return b"".join(b"x" * min(size, LARGEST_BODY) for size in sizes if type(size) is int and size > 0)


@schemathesis.serializer(FRAME)
def pack(ctx, head):
    if isinstance(head, bytes):
        return head
    text = json.dumps(head).encode()
    frame = struct.pack(">I", len(text)) + text + bodies_of(head)
    return frame + struct.pack(">I", zlib.crc32(frame))


@schemathesis.deserializer(FRAME)
def unpack(ctx, response):
    frame, checksum = response.content[:-4], response.content[-4:]
    if struct.pack(">I", zlib.crc32(frame)) != checksum:
        raise ValueError("the checksum of the frame is wrong")
    return json.loads(frame[4 : 4 + struct.unpack(">I", frame[:4])[0]])


def is_positive(case) -> bool:
    return case.meta is not None and case.meta.generation.mode.name == "POSITIVE"


def make_distinct(changes) -> None:
    """Nor that all of a list are of different items."""
    for index, change in enumerate(changes):
        change["key"], change["writeKey"] = f"{index}{change['key'][:900]}", f"{index}{change['writeKey'][:900]}"


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """A schema cannot say that one number is another plus one, nor that a header says what the body says."""
    if not isinstance(case.body, dict) or not is_positive(case):
        return
    operation = case.operation.definition.raw.get("operationId")
    if operation in ("writeItems", "removeItems"):
        make_distinct(case.body["changes"])
    if operation != "append":
        return
    head, record = case.body, case.body["record"]
    record["bytes"] = min(record["bytes"], LARGEST_BODY)
    before = head["expected"]["seq"]
    record["seq"], record["base"] = before + 1, 1
    record["head"] = record["seq"] if "checkpointId" in record else min(record["head"], before)
    head["replace"] = []
    head.pop("more", None)
    if record.get("checkpointId") in record.get("names", []):
        record.pop("names")
    for name in ("drop", "dropBelow", "ttlMs"):
        head.pop(name, None)
    for name in ("If-Match", "If-None-Match", "Idempotency-Key"):
        case.headers.pop(name, None)
    expected = head["expected"]
    if expected["seq"] == 0:
        expected["writeId"] = ""
        case.headers["If-None-Match"] = "*"
    else:
        expected["writeId"] = expected["writeId"] or "write"
        generation, write = (quote(expected[name], safe="") for name in ("generation", "writeId"))
        case.headers["If-Match"] = f'"{generation}:{expected["seq"]}:{write}"'
    case.headers["Idempotency-Key"] = in_quotes(record["writeId"])
