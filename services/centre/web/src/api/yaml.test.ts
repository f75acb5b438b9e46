import { test } from "node:test";
import assert from "node:assert/strict";
import { YamlFault, yamlValue } from "./yaml";

test("mappings, lists and scalars are read as the engine reads them", () => {
    const text = `# a scenario
scenario: activate-line
params: {type: object, required: [msisdn], properties: {msisdn: {type: string, pattern: "^[0-9]{11}$"}, "a b": {enum: [1, 2.5, -1e3, true, null, 'x''y']}}}
states:
  call:
    actions:
      - http: {url: "http://a/b"}
        timeout: 5s
      -
        - deep
  none:
`;
    assert.deepEqual(yamlValue(text), {
        scenario: "activate-line",
        params: {
            type: "object",
            required: ["msisdn"],
            properties: { msisdn: { type: "string", pattern: "^[0-9]{11}$" }, "a b": { enum: [1, 2.5, -1000, true, null, "x'y"] } },
        },
        states: { call: { actions: [{ http: { url: "http://a/b" }, timeout: "5s" }, ["deep"]] }, none: null },
    });
});

test("texts of several lines keep or fold their ends", () => {
    assert.deepEqual(yamlValue("a: |\n  one\n    two\nb: >-\n  one\n  two\nc: one\n  two\nd: 'one\n\n  two'\n"), {
        a: "one\n  two\n",
        b: "one two",
        c: "one two",
        d: "one\ntwo",
    });
});

test("escapes are those of double quotes", () => {
    assert.deepEqual(yamlValue(String.raw`a: "\n\t\"\u0041\x42\\d"`), { a: '\n\t"AB\\d' });
});

test("a named value may stand again", () => {
    assert.deepEqual(yamlValue("a: &one {b: 1}\nc: *one\nd: !!str 12\n"), { a: { b: 1 }, c: { b: 1 }, d: "12" });
});

test("JSON is read, too, and what is neither is refused", () => {
    assert.deepEqual(yamlValue('{"a": [1, {"b": null}]}'), { a: [1, { b: null }] });
    assert.deepEqual(yamlValue(""), null);
    assert.throws(() => yamlValue("a: [1, 2\nb: }"), YamlFault);
});
