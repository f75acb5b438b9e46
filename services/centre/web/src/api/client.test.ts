import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { change, credentials, Failure, json, pathOf, queryText, read, send } from "./client";

const network = globalThis.fetch;
afterEach(() => {
    globalThis.fetch = network;
});

/** Answers requests one after the other. */
function answering(...answers: (Response | Error)[]): { url: string; init: RequestInit }[] {
    const sent: { url: string; init: RequestInit }[] = [];
    globalThis.fetch = (url, init) => {
        sent.push({ url: String(url), init: init ?? {} });
        const answer = answers[sent.length - 1] ?? new Error("asked too often");
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    };
    return sent;
}

test("a query has its values escaped and its lists repeated, and leaves out what is empty", () => {
    assert.equal(queryText({ a: "x y&z", b: 0, c: false, d: undefined, e: null, f: "", g: ["1", "", "2"], h: [] }), "?a=x+y%26z&b=0&c=false&g=1&g=2");
    assert.equal(queryText({}), "");
    assert.equal(queryText({ a: undefined }), "");
});

test("values of a path are escaped", () => {
    assert.equal(pathOf("/v1/orders/{id}/log", { id: "a/b ?" }), "/v1/orders/a%2Fb%20%3F/log");
    assert.equal(read("/v1/orders/{id}", { id: "A-1" }).url, "/v1/orders/A-1");
});

test("a change carries its body and the token of the session", async () => {
    const sent = answering(new Response('{"ok":true}'));
    credentials.csrfToken = "t";
    await json(change("POST", "/v1/orders", {}, { id: "A-1" }));
    credentials.csrfToken = undefined;
    const headers = new Headers(sent[0]?.init.headers);
    assert.deepEqual([headers.get("x-csrf-token"), headers.get("content-type"), sent[0]?.init.body], ["t", "application/json", '{"id":"A-1"}']);
});

test("a problem of the server is a failure with its words and its pointer", async () => {
    answering(new Response('{"title":"T","detail":"D","pointer":"/id"}', { status: 422 }));
    await assert.rejects(json(read("/v1/orders")), (error: unknown) => {
        assert.ok(error instanceof Failure);
        assert.deepEqual([error.status, error.message, error.pointer], [422, "D", "/id"]);
        return true;
    });
});

test("an answer that is no JSON and a network that is away are failures too", async () => {
    answering(new Response("<html>", { status: 502, statusText: "Bad Gateway" }), new TypeError("refused"));
    await assert.rejects(json(read("/v1/orders")), { status: 502, message: "Bad Gateway" });
    await assert.rejects(json(read("/v1/orders")), { status: 0, message: "refused" });
});

test("a request that wants a session waits for the login, and is sent once more", async () => {
    const sent = answering(new Response("{}", { status: 401 }), new Response("{}"));
    const before = credentials.refused;
    let logIn: (() => void) | undefined;
    credentials.refused = (again) => (logIn = again);
    const answer = send(read("/v1/orders"));
    while (!logIn) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(sent.length, 1);
    logIn();
    assert.equal((await answer).status, 200);
    credentials.refused = before;
});

test("an answer without a body is nothing", async () => {
    answering(new Response(null, { status: 204 }));
    assert.equal(await json(change("DELETE", "/v1/access/tokens/{id}", { id: "x" })), undefined);
});
