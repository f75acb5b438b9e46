import { test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { CONDITIONS, NAMES } from "./conditions";
import { exportRequest } from "./export";
import {
    bodyOf,
    countRequest,
    flagsOf,
    listRequest,
    ordersOf,
    overStatuses,
    queryOf,
    saveRequest,
    selectionOf,
    selectionOfBody,
    type Selection,
} from "./selection";
import { EXAMINED } from "../../api/examined";

const api = JSON.parse(readFileSync("../../../docs/openapi.json", "utf8"));

test("the table has exactly the conditions of the API", () => {
    const parameters: string[] = api.paths["/v1/orders"].get.parameters.map((one: { name: string }) => one.name);
    const fields = Object.keys(api.components.schemas.SearchBody.properties);
    const wanted = new Set([...parameters, ...fields].filter((name) => !["cursor", "limit"].includes(name)));
    assert.deepEqual([...NAMES].sort(), [...wanted].sort());
});

/** Values that are hard on queries, one for each kind of condition. */
const TEXTS = ["a", "a b", "a+b&c=d", "100%", "", 'q"q', "ид", "#?/"];

function* selections(): Generator<Selection> {
    let seed = 7;
    const next = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const value = (name: (typeof NAMES)[number]): string => {
        const { kind, words } = CONDITIONS[name];
        const text = TEXTS[next(TEXTS.length)] ?? "";
        if (kind === "flag") return next(2) ? "true" : "false";
        if (kind === "number") return String(next(100));
        if (kind === "list") return [words?.[0] ?? text, words?.[1] ?? "z"].slice(next(2)).join(",");
        return words?.[0] ?? text;
    };
    for (let round = 0; round < 300; round++) {
        const names = NAMES.filter((name) => name !== "saved" && next(5) === 0);
        yield names.map((name) => [CONDITIONS[name].kind === "path" ? `${name}.a.b` : name, value(name)] as const);
    }
}

/** What the API reads from a query: the same as from a body. */
function readAsTheApi(url: string): Record<string, unknown> {
    const body: Record<string, unknown> = {};
    for (const [name, value] of new URLSearchParams(url.split("?")[1])) {
        if (["limit", "cursor", "by"].includes(name)) continue;
        const [start = "", ...path] = name.split(".");
        if (path.length > 0) body[start] = { ...(body[start] as object), [path.join(".")]: value };
        else body[name] = value;
    }
    return body;
}

const asText = (body: Record<string, unknown>) =>
    Object.fromEntries(
        Object.entries(body).map(([name, value]) => [
            name,
            Array.isArray(value) ? value.join(",") : typeof value === "object" ? value : String(value),
        ]),
    );

test("list, counts, export, saved search and operation are of the same orders", () => {
    for (const selection of selections()) {
        const body = asText(bodyOf(selection));
        assert.deepEqual(readAsTheApi(listRequest(selection, undefined, 50).url), body);
        assert.deepEqual(readAsTheApi(countRequest(selection, "status").url), { ...body, examine: String(EXAMINED) });
        assert.deepEqual(readAsTheApi(exportRequest(selection, "7").url), body);
        assert.deepEqual(asText(saveRequest(selection, "n").body as Record<string, unknown>), body);
        assert.deepEqual(ordersOf(selection), { search: bodyOf(selection) });
    }
});

test("an address and a search's body give the selection back", () => {
    for (const selection of selections()) {
        assert.deepEqual(selectionOf(new URLSearchParams(queryOf(selection, { columns: "id", cursor: "3", live: "off" }))), selection);
        const again = selectionOfBody(bodyOf(selection));
        assert.deepEqual(bodyOf(again), bodyOf(selection));
    }
});

test("a saved search stands alone in an operation", () => {
    assert.deepEqual(ordersOf([["saved", "broken"]]), { saved: "broken" });
});

test("a search of the API without conditions has none", () => {
    assert.deepEqual(selectionOfBody({ status: [], scenario: null, params: {}, jeopardy: null }), []);
    assert.deepEqual(selectionOfBody({ status: ["fail"], params: { "a.b": 7 }, jeopardy: false }), [
        ["status", "fail"],
        ["params.a.b", "7"],
        ["jeopardy", "false"],
    ]);
});

test("a list that an address repeats is put together", () => {
    assert.deepEqual(selectionOf(new URLSearchParams("status=fail&status=retry&cursor=1")), [["status", "fail,retry"]]);
});

test("statuses beside the list are counted where the API can look at all of them", () => {
    const selection: Selection = [
        ["status", "fail"],
        ["flow", "a"],
    ];
    assert.deepEqual(overStatuses(selection), [["flow", "a"]]);
    const costly: Selection = [...selection, ["params.a", "1"]];
    assert.deepEqual(overStatuses(costly), costly);
});

test("the command has the same conditions as flags", () => {
    const selection: Selection = [
        ["status", "fail,retry"],
        ["scenarioStatus", "failed"],
        ["params.a.b", "7"],
        ["ids", "x"],
        ["jeopardy", "true"],
    ];
    assert.deepEqual(flagsOf(selection), [
        "--status",
        "fail",
        "--status",
        "retry",
        "--scenario-status",
        "failed",
        "--where",
        "a.b=7",
        "--id",
        "x",
        "--jeopardy",
    ]);
    assert.equal(flagsOf([["jeopardy", "false"]]), undefined);
});
