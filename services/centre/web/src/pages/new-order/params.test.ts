import { test } from "node:test";
import assert from "node:assert/strict";
import { paramsOfFields, paramsOfJson, paramsOfRows, rowsOf, typedFor } from "./params";
import { fieldsOf, paramPaths } from "./schema";

const SCHEMA = {
    type: "object",
    required: ["msisdn"],
    properties: {
        msisdn: { type: "string", title: "Number", pattern: "^[0-9]{11}$" },
        tariff: { type: "string", enum: ["smart", "max"] },
        amount: { type: "number" },
        delayMs: { type: ["integer", "null"] },
        vip: { type: "boolean" },
        tags: { type: "array", items: { type: "string" } },
        lines: { type: "array", items: { type: "object" } },
        address: { $ref: "#/$defs/address" },
        "a/b": { type: "string" },
    },
    $defs: { address: { type: "object", required: ["city"], properties: { city: { type: "string" }, house: { type: "integer" } } } },
};
const root = fieldsOf(SCHEMA);
assert.ok(root);

test("a schema becomes fields of their kinds", () => {
    assert.deepEqual(
        root.fields?.map(({ pointer, kind, required }) => [pointer, kind, required]),
        [
            ["/msisdn", "text", true],
            ["/tariff", "choice", false],
            ["/amount", "number", false],
            ["/delayMs", "integer", false],
            ["/vip", "boolean", false],
            ["/tags", "lines", false],
            ["/lines", "json", false],
            ["/address", "group", false],
            ["/a~1b", "text", false],
        ],
    );
    assert.equal(root.fields?.[0]?.label, "Number");
    assert.equal(root.fields?.[0]?.form, "pattern ^[0-9]{11}$");
});

test("the paths of a schema are those of searches", () => {
    assert.deepEqual(paramPaths(SCHEMA), ["msisdn", "tariff", "amount", "delayMs", "vip", "tags", "lines", "address.city", "address.house", "a/b"]);
});

test("what has no fields has no form", () => {
    for (const schema of [undefined, null, true, {}, { type: "object" }, { type: "string" }, { $ref: "#/nowhere" }, { $ref: "#" }]) {
        assert.equal(fieldsOf(schema), undefined);
    }
});

test("a schema within itself ends as JSON", () => {
    const schema = { type: "object", properties: { child: { $ref: "#" } } };
    let field = fieldsOf(schema);
    let depth = 0;
    for (; field?.kind === "group"; depth++) field = field.fields?.[0];
    assert.equal(field?.kind, "json");
    assert.ok(depth < 5);
});

test("what is typed becomes values of their types", () => {
    const texts = {
        "/msisdn": "79110000001",
        "/tariff": '"max"',
        "/amount": "1,5",
        "/delayMs": "20",
        "/vip": "true",
        "/tags": "a\nb",
        "/lines": '[{"sku": "x"}]',
        "/address/city": "Riga",
    };
    const { params, faults } = paramsOfFields(root, texts, [{ name: "more", type: "json", value: "null" }]);
    assert.deepEqual(faults, []);
    assert.deepEqual(params, {
        msisdn: "79110000001",
        tariff: "max",
        amount: 1.5,
        delayMs: 20,
        vip: true,
        tags: ["a", "b"],
        lines: [{ sku: "x" }],
        address: { city: "Riga" },
        more: null,
    });
});

test("what is left empty is left out, and lacks what is required only where it is begun", () => {
    assert.deepEqual(paramsOfFields(root, { "/msisdn": "1" }, []), { params: { msisdn: "1" }, faults: [] });
    assert.deepEqual(paramsOfFields(root, {}, []).faults, [{ pointer: "/msisdn", kind: "missing" }]);
    assert.deepEqual(paramsOfFields(root, { "/msisdn": "1", "/address/house": "5" }, []).faults, [{ pointer: "/address/city", kind: "missing" }]);
});

test("what is no value of its type is said at its field", () => {
    const { faults } = paramsOfFields(root, { "/msisdn": "1", "/amount": "much", "/delayMs": "1.5", "/lines": "[" }, []);
    assert.deepEqual(faults, [
        { pointer: "/amount", kind: "not_a_number" },
        { pointer: "/delayMs", kind: "not_an_integer" },
        { pointer: "/lines", kind: "not_json" },
    ]);
});

test("parameters that fields can say come back unchanged, and others are left to JSON", () => {
    const good = [
        { msisdn: "1" },
        {
            msisdn: "007",
            tariff: "smart",
            delayMs: -3,
            vip: false,
            tags: ["x y"],
            lines: [],
            address: { city: "Riga", house: 1 },
            extra: { deep: [1] },
            flag: true,
        },
        { "a/b": "c", msisdn: "x", tariff: "unknown to the schema" },
        {},
    ];
    for (const params of good) {
        const typed = typedFor(root, params);
        assert.ok(typed, JSON.stringify(params));
        assert.deepEqual(paramsOfFields(root, typed.texts, typed.others).params, params);
    }
    const others = [
        { msisdn: 7 },
        { msisdn: "" },
        { msisdn: "1", address: {} },
        { msisdn: "1", address: { city: "Riga", zip: 1 } },
        { msisdn: "1", tags: [""] },
        { msisdn: "1", tags: ["a\nb"] },
    ];
    for (const params of others) assert.equal(typedFor(root, params), undefined, JSON.stringify(params));
});

test("rows become parameters and come back", () => {
    const params = { text: "1", number: 1.5, yes: true, list: [1], none: null, empty: "" };
    assert.deepEqual(paramsOfRows(rowsOf(params)), { params, faults: [] });
    const { faults } = paramsOfRows([
        { name: "a", type: "number", value: "x" },
        { name: "b", type: "boolean", value: "1" },
        { name: "c", type: "text", value: "1" },
        { name: "c", type: "text", value: "2" },
        { name: "", type: "text", value: "2" },
        { name: "", type: "text", value: "" },
    ]);
    assert.deepEqual(
        faults.map(({ kind }) => kind),
        ["not_a_number", "not_a_boolean", "twice", "no_name"],
    );
});

test("JSON of parameters is an object", () => {
    assert.deepEqual(
        [paramsOfJson(""), paramsOfJson("[]").faults[0]?.kind, paramsOfJson("{").faults[0]?.kind],
        [{ params: {}, faults: [] }, "not_an_object", "not_json"],
    );
});
