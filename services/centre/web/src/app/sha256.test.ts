import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { hex, sha256 } from "./sha256";

test("hashes are those of another implementation, at every length around a block", () => {
    for (const length of [0, 1, 3, 54, 55, 56, 57, 63, 64, 65, 119, 120, 128, 1_000, 70_001]) {
        const bytes = Uint8Array.from({ length }, (_, index) => (index * 131 + length) % 256);
        assert.equal(hex(sha256(bytes)), createHash("sha256").update(bytes).digest("hex"), `${length} bytes`);
    }
});

test("the hash of the standard's example is the one that it prints", () => {
    assert.equal(hex(sha256(new TextEncoder().encode("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});
