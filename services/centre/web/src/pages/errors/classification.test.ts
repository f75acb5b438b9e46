import { test } from "node:test";
import assert from "node:assert/strict";
import { classifyCommand, questionOf } from "./classification";

const of = (query: string) => questionOf(new URLSearchParams(query));

test("an address without a failure asks nothing", () => {
    assert.equal(of("tab=classify"), undefined);
    assert.equal(of("method=POST&scenario=s"), undefined);
});

test("the address is the question", () => {
    assert.deepEqual(of("path=/pay&method=POST&code=503&body=away&timeout=false"), { path: "/pay", method: "POST", status: 503, body: "away" });
    assert.deepEqual(of("timeout=true"), { timeout: true });
});

test("the command asks for the same", () => {
    assert.deepEqual(classifyCommand({ path: "/pay", status: 503, stepStatus: "x", timeout: true }), [
        "classify", "--path", "/pay", "--status", "503", "--step-status", "x", "--timeout", "--why",
    ]);
});
