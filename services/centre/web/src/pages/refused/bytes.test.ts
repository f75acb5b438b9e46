import { test } from "node:test";
import assert from "node:assert/strict";
import { bytesOf, dump, faultOf, isEditable, isWhole, replayOf } from "./bytes";

const text = (body: string) => ({ body, encoding: "text", bytes: new TextEncoder().encode(body).length, key: "order.create" });

test("a body is its bytes, whether it came as text or as hexadecimal digits", () => {
    assert.deepEqual([...bytesOf(text("aя"))], [0x61, 0xd1, 0x8f]);
    assert.deepEqual([...bytesOf({ body: "00fffe", encoding: "hex" })], [0, 255, 254]);
    assert.deepEqual([...bytesOf({ body: "", encoding: "hex" })], []);
});

test("a dump has offset, bytes and letters, and its columns stand below each other", () => {
    const lines = dump(bytesOf(text('{"id": "A-1", "n": 1}\n'))).split("\n");
    assert.equal(lines[0], '00000000  7b 22 69 64 22 3a 20 22  41 2d 31 22 2c 20 22 6e  |{"id": "A-1", "n|');
    assert.equal(lines[1], '00000010  22 3a 20 31 7d 0a                                 |": 1}.|');
    assert.equal(lines[0]?.indexOf("|"), lines[1]?.indexOf("|"));
    assert.equal(dump(new Uint8Array()), "");
});

test("only a text that is seen whole can be changed", () => {
    assert.equal(isEditable(text("яя")), true);
    assert.equal(isWhole({ ...text("cut"), bytes: 2_000_000 }), false);
    assert.equal(isEditable({ ...text("cut"), bytes: 2_000_000 }), false);
    assert.equal(isEditable({ body: "00ff", encoding: "hex", bytes: 2 }), false);
});

test("what was not changed is not sent", () => {
    const message = text("{}");
    assert.deepEqual(replayOf(message, { body: "{}", key: "order.create", withoutReceipt: false }, "r"), { reason: "r" });
    assert.deepEqual(replayOf(message, { body: "[]", key: "order.kill", withoutReceipt: true }, "r"), {
        reason: "r",
        body: "[]",
        key: "order.kill",
        withoutReceipt: true,
    });
    const cut = { ...message, bytes: 9 };
    assert.deepEqual(replayOf(cut, { body: "changed", key: "order.create", withoutReceipt: false }, "r"), { reason: "r" });
});

test("a fault of JSON is named", () => {
    assert.equal(faultOf('{"a": 1}'), undefined);
    assert.match(faultOf('{"a": ') ?? "", /JSON/);
});
