import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { asCommand, asCurl, shellWord } from "./command";

/** Words as a shell takes them. */
function wordsOf(text: string): string[] {
    return execFileSync("/bin/sh", ["-c", `for word in ${text}; do printf '%s\\0' "$word"; done`]).toString().split("\0").slice(0, -1);
}

test("a shell takes every text as the one word that it was", () => {
    const texts = ["plain", "", " ", "two words", "it's", "''", '"', "$HOME", "`id`", "a\nb", "*", "~", "#x", "!x", "a\\b", "заявка", "-x", "a;b|c&d"];
    for (const text of texts) assert.deepEqual(wordsOf(shellWord(text)), [text]);
});

test("words without a meaning for shells stay as they are", () => {
    for (const text of ["A-1", "a/b", "k=v", "x@y", "1,2", "50%"]) assert.equal(shellWord(text), text);
});

test("a command has no empty words", () => {
    assert.equal(asCommand(["order", "get", undefined, "", "it's 1"]), `pagurus order get 'it'\\''s 1'`);
});

test("a request becomes curl with its method, its body and its whole address", () => {
    assert.equal(asCurl({ method: "GET", url: "/v1/orders?a=1&b=2" }, "http://h:1"), "curl 'http://h:1/v1/orders?a=1&b=2'");
    assert.deepEqual(wordsOf(asCurl({ method: "POST", url: "/v1/orders", body: { id: "it's" } }, "http://h")), [
        "curl",
        "-X",
        "POST",
        "-H",
        "content-type: application/json",
        "--data-binary",
        '{"id":"it\'s"}',
        "http://h/v1/orders",
    ]);
    const yaml = asCurl({ method: "PUT", url: "/v1/scenarios/a", body: "a: 1\n", mediaType: "application/yaml" }, "http://h");
    assert.deepEqual(wordsOf(yaml).slice(3, 7), ["-H", "content-type: application/yaml", "--data-binary", "a: 1\n"]);
});
