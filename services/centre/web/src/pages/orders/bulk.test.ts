import { test } from "node:test";
import assert from "node:assert/strict";
import { EMPTY, commandOf, objectOf, operationRequest, previewRequest } from "./bulk";
import { csvValue, linesOf } from "./export";

const selection = [["status", "fail"]] as const;

test("a preview asks for the same orders and the same action as the operation", () => {
    const draft = { ...EMPTY, from: "initial", rate: "50", rampStart: "1", stopIf: "20", follow: "2h" };
    const { body } = operationRequest({ selection }, draft, "the shop is back");
    assert.deepEqual(body, {
        action: "restart",
        search: { status: ["fail"] },
        with: { from: "initial" },
        rate: 50,
        ramp: { start: 1, factor: 3, stop_if: { failed_share: 0.2 } },
        follow: "2h",
        reason: "the shop is back",
    });
    const preview = previewRequest({ selection }, draft).body as Record<string, unknown>;
    assert.deepEqual({ ...preview, reason: "the shop is back" }, { ...(body as object), dryRun: true });
});

test("fields of another action are not sent", () => {
    const draft = { ...EMPTY, action: "update" as const, from: "initial", priority: "low", more: '{"params": {"a": 1}}' };
    const { body } = operationRequest({ selection }, draft, "r");
    assert.deepEqual((body as { with: object }).with, { priority: "low", params: { a: 1 } });
});

test("a repair of what failed names no state", () => {
    const draft = { ...EMPTY, action: "repair" as const, state: "charge", version: "3" };
    const withOf = (alone: boolean) => (operationRequest({ selection }, { ...draft, alone }, "r").body as { with: object }).with;
    assert.deepEqual(withOf(true), { failedAction: true, scenarioVersion: 3 });
    assert.deepEqual(withOf(false), { state: "charge", scenarioVersion: 3 });
});

test("an operation is repeated by its number", () => {
    assert.deepEqual((operationRequest({ again: 7 }, EMPTY, "r").body as { again: number }).again, 7);
    assert.deepEqual(commandOf({ again: 7 }, EMPTY, "r"), ["operation", "again", "7", "--reason", "r"]);
});

test("ticked orders are named one by one, commas included", () => {
    const { body } = operationRequest({ ids: ["a,b", "c"] }, EMPTY, "r");
    assert.deepEqual((body as { search: object }).search, { ids: ["a,b", "c"] });
    assert.deepEqual(commandOf({ ids: ["a,b"] }, EMPTY, "r"), ["operation", "start", "restart", "--id", "a,b", "--reason", "r"]);
});

test("the command says the same", () => {
    const draft = { ...EMPTY, from: "initial", rampStart: "1", stopIf: "20" };
    const words = [
        "operation",
        "start",
        "restart",
        "--with",
        '{"from":"initial"}',
        "--status",
        "fail",
        "--ramp",
        "1:3",
        "--stop-if-failed",
        "0.2",
        "--reason",
        "r",
    ];
    assert.deepEqual(commandOf({ selection }, draft, "r"), words);
});

test("only objects are fields", () => {
    assert.deepEqual([objectOf(""), objectOf("[1]"), objectOf("{"), objectOf("null")], [{}, undefined, undefined, undefined]);
});

test("a file has a line for each order, and no formula", () => {
    assert.deepEqual(['a,"b"', "=1+1", "-1", null, true, 7].map(csvValue), ['"a,""b"""', "'=1+1", "'-1", "", "true", "7"]);
    const order = {
        id: "a",
        scenario: "s",
        scenarioVersion: 1,
        status: "new",
        scenarioStatus: "undefined",
        step: null,
        errorClass: null,
        createdAt: "t",
        updatedAt: "u",
    };
    assert.equal(linesOf("csv", [order]), "a,s,1,new,undefined,,,t,u,,\r\n");
    assert.deepEqual(JSON.parse(linesOf("ndjson", [order])), order);
});
