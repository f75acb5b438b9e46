import { test } from "node:test";
import assert from "node:assert/strict";
import { paramsAt, suggestions, sourceAt, taken } from "./complete";
import { nearest } from "./nearest";
import { parsed, textOf } from "./words";

test("a text is read into conditions under the API's own names", () => {
    const { selection, faults } = parsed(
        'status:fail,retry scenario:activate-line  params.customer.id=7 text:"not \\"here\\"" createdSince:2026-01-02T10:00:00+03:00',
    );
    assert.deepEqual(faults, []);
    assert.deepEqual(selection, [
        ["status", "fail,retry"],
        ["scenario", "activate-line"],
        ["params.customer.id", "7"],
        ["text", 'not "here"'],
        ["createdSince", "2026-01-02T10:00:00+03:00"],
    ]);
});

test("what is written is read again as the same selection", () => {
    const values = ["a", "", 'a "quoted" one', "back\\slash", "a:b=c", " edge ", "запрос", '"', "\\"];
    for (const value of values) {
        const selection = [
            ["class", value],
            ["text", value || "x"],
            ["params.a.b", value],
        ] as const;
        assert.deepEqual(parsed(textOf(selection)).selection, selection, JSON.stringify(value));
    }
});

test("a list that is written twice is put together, and another condition is refused", () => {
    assert.deepEqual(parsed("status:fail status:retry").selection, [["status", "fail,retry"]]);
    assert.equal(parsed("flow:a flow:b").faults[0]?.kind, "twice");
});

test("an unknown name is refused with the nearest known one", () => {
    const { faults } = parsed("statsu:fail createdAfter:2h priorty:high zebra:1");
    assert.deepEqual(
        faults.map(({ kind, name, instead }) => [kind, name, instead?.[0]]),
        [
            ["unknown_name", "statsu", "status:fail"],
            ["unknown_name", "createdAfter", "createdSince:2h"],
            ["unknown_name", "priorty", "priority:high"],
            ["unknown_name", "zebra", undefined],
        ],
    );
});

test("an unknown word of a list is refused, and only that word is mended", () => {
    const [fault] = parsed("status:retry,faild").faults;
    assert.equal(fault?.value, "faild");
    assert.deepEqual(fault?.instead, ["status:retry,fail"]);
});

test("a bare word is offered as an id, a transaction and a text", () => {
    const [fault] = parsed("LINE-725554").faults;
    assert.equal(fault?.kind, "no_colon");
    assert.deepEqual(fault?.instead, ["idPrefix:LINE-725554", "transactionId:LINE-725554", "text:LINE-725554"]);
    assert.equal(parsed("status").faults[0]?.instead?.[0], "status:");
});

test("values that the API would refuse are refused before it is asked", () => {
    const kinds = (text: string) => parsed(text).faults.map(({ kind }) => kind);
    assert.deepEqual(kinds("createdSince:yesterday"), ["not_a_time"]);
    assert.deepEqual(kinds("createdSince:2026-01-02T10:00:00"), ["not_a_time"], "a time without an offset is anybody's");
    assert.deepEqual(kinds("createdSince:1h30m finishedSince:500ms createdUntil:0"), []);
    assert.deepEqual(kinds("createdSince:30m1h"), ["not_a_time"]);
    assert.deepEqual(kinds("jeopardy:yes"), ["not_a_flag"]);
    assert.deepEqual(kinds("scenario:s scenarioVersion:two"), ["not_a_number"]);
    assert.deepEqual(kinds("scenarioVersion:2"), ["needs_scenario"]);
    assert.deepEqual(kinds("flow:"), ["no_value"]);
    assert.deepEqual(kinds('class:""'), [], "orders without an error");
    assert.deepEqual(kinds("params:7"), ["no_path"]);
    assert.deepEqual(kinds("saved:broken status:fail"), ["saved_alone"]);
});

const shown = (text: string, known = {}) => suggestions(text, text.length, known).map((one) => one.shown);

test("names are completed, those that begin alike first, and none is offered twice", () => {
    assert.deepEqual(shown("sta").slice(0, 2), ["status:", "state:"]);
    assert.ok(shown("sta").includes("scenarioStatus:"));
    assert.ok(!shown("status:fail sta").includes("status:"));
    assert.ok(shown("").includes("params."));
});

test("values are completed from words and from the engine's lists", () => {
    assert.deepEqual(shown("status:re"), ["retry", "reopen"]);
    assert.deepEqual(shown("status:retry,re"), ["reopen"], "what is chosen is not offered again");
    assert.deepEqual(shown("scenario:act", { scenario: ["activate-line", "block-card", "reactivate"] }), ["activate-line", "reactivate"]);
    assert.deepEqual(shown("jeopardy:"), ["true", "false"]);
    assert.equal(sourceAt("scenario:a", 10), "scenario");
    assert.equal(sourceAt("scenario:a", 4), undefined);
});

test("paths of parameters are completed from the scenario of the search", () => {
    const text = "scenario:activate-line params.ms";
    assert.equal(paramsAt(text, text.length), "activate-line");
    assert.equal(paramsAt("params.ms", 9), undefined);
    assert.equal(paramsAt(text, 5), undefined);
    assert.deepEqual(shown(text, { params: ["msisdn", "tariff", "alarms"] }), ["params.msisdn:", "params.alarms:"]);
    const [first] = suggestions(text, text.length, { params: ["msisdn"] });
    assert.ok(first);
    assert.equal(taken(text, first).text, "scenario:activate-line params.msisdn:");
});

test("a suggestion that is taken replaces what was typed, in the middle too", () => {
    const text = "status:fa,retry flow:x";
    const [first] = suggestions(text, 9);
    assert.ok(first);
    assert.deepEqual(taken(text, first), { text: "status:fail,retry flow:x", caret: 11 });
    const [name] = suggestions("scen", 4);
    assert.ok(name);
    assert.deepEqual(taken("scen", name), { text: "scenario:", caret: 9 });
    const [value] = suggestions("mode:", 5);
    assert.ok(value);
    assert.deepEqual(taken("mode:", value), { text: "mode:parallel ", caret: 14 });
});

test("the nearest word is near, or there is none", () => {
    assert.equal(nearest("sceanrio", ["scenario", "source"]), "scenario");
    assert.equal(nearest("xyz", ["scenario", "source"]), undefined);
});
