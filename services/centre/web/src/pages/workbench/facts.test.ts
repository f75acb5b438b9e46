import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyRead, completedConfig, completedSecrets, factsOf, firstParams, sample } from "./facts";
import { readYaml } from "./yaml-reader";

test("facts of a text", () => {
    const facts = factsOf(
        readYaml(`scenario: a
params: {type: object, required: [msisdn, n, tags], properties: {msisdn: {type: string, pattern: "^7[0-9]{10}$"}, n: {type: integer, minimum: 5}, tags: {type: array, items: {enum: [x, y]}}}}
states:
  one: {on: {success: two}}
  two: {kind: terminal}
`),
    );
    assert.deepEqual(facts, { name: "a", isOperation: false, states: ["one", "two"], params: { msisdn: "71234567890", n: 5, tags: ["x"] } });
});

test("a text that is no scenario has none", () => {
    assert.deepEqual(factsOf(readYaml("- a")), { name: "", isOperation: false, states: [], params: {} });
    assert.deepEqual(factsOf(readYaml("")).states, []);
});

test("a schema without end has a sample", () => {
    const schema: Record<string, unknown> = { type: "object", required: ["next"], properties: {} };
    schema["properties"] = { next: schema };
    assert.deepEqual(sample(schema), { next: { next: { next: { next: {} } } } });
});

test("constants that a trial lacks get an address, and those that it has stay", () => {
    const text = "url: ${config.billing_v2}/x ${config.net}\nscript: config.net + secret.token";
    assert.deepEqual(completedConfig(text, { net: "http://n" }), { net: "http://n", billing_v2: "http://billing-v2" });
    assert.deepEqual(completedSecrets(text, {}), { token: "secret" });
});

test("a body has what the text reads of it", () => {
    const text = `save: {id: "\${response.body.id}"}
      if response.body.state == "active" { success() } else if response.body.state == "blocked" { fail() }
      if callbacks.activation.body.code != 0 { fail("no: " + callbacks.activation.body.text) }
      response.body?.address?.city; response.body.items.len()`;
    assert.deepEqual(bodyRead("response", text), { id: "id-1", state: "active", address: { city: "city-1" }, items: "items-1" });
    assert.deepEqual(bodyRead("callbacks", text), { code: 0, text: "text-1" });
    assert.equal(bodyRead("response", "response.status"), undefined);
});

test("without a schema, parameters are those that the text reads", () => {
    const facts = factsOf(readYaml("scenario: a"));
    assert.deepEqual(firstParams("${params.msisdn} ${params.text}", facts), { msisdn: "msisdn-1", text: "text-1" });
    assert.deepEqual(firstParams("${params.msisdn}", { ...facts, params: { n: 1 } }), { n: 1 });
});
