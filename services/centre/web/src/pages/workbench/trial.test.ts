import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyTrial, toText, type Trial } from "./trial";
import { readTrials } from "./trial-reader";
import { isYaml, readYaml } from "./yaml-reader";

const FILE = `scenario: change-tariff.yaml # beside it
tests:
  - test: it's confirmed a day later
    params: {msisdn: "79110000001", tariff: light, list: [1, "2", 1.50, true, null]}
    config: {billing: "http://billing"}
    now: 2026-03-01T10:00:00Z
    order: {id: order-1, queue: q}
    answers:
      - {http: "POST http://billing/ps/v1/tariffs/*/reservations", status: 201, body: {id: r-1}, after: 200ms, times: 2}
      - amqp: {exchange: network, key: activate}
        callback: {after: 5s, body: {code: 0}, stepStatus: ok}
      - {amqp: {key: other}, callback: none}
      - http: {method: POST, url: "http://x/y", body: {a: 1}}
        fails: ReadTimeout
      - {actor: scoring, decision: fail, error: {class: a.b, message: "no: \\"x\\""}}
      - {order: {scenario: child, params: {n: 1}}, status: fail, step: end}
    calls: [{after: 1h, name: change-address, body: {street: 'it''s'}}]
    expect:
      status: success
      path: [a, b]
      message: |
        two
          lines
  - test: other
    expect: {status: fail}
`;

test("a file of tests is read", () => {
    const [first, second] = readTrials(readYaml(FILE));
    assert.equal(first?.name, "it's confirmed a day later");
    assert.deepEqual(first?.params, { msisdn: "79110000001", tariff: "light", list: [1, "2", "1.50", true, null] });
    assert.equal(first?.now, "2026-03-01T10:00:00Z");
    assert.equal(first?.answers.length, 6);
    assert.deepEqual(first?.answers[0], {
        asked: { kind: "http", method: "POST", target: "http://billing/ps/v1/tariffs/*/reservations" },
        status: 201,
        body: { id: "r-1" },
        after: "200ms",
        times: 2,
    });
    assert.deepEqual(first?.answers[1]?.callback, { after: "5s", body: { code: 0 }, stepStatus: "ok" });
    assert.equal(first?.answers[2]?.callback, "none");
    assert.deepEqual(first?.answers[3]?.asked, { kind: "http", method: "POST", target: "http://x/y", body: { a: 1 } });
    assert.deepEqual(first?.answers[4]?.error, { class: "a.b", message: 'no: "x"' });
    assert.deepEqual(first?.answers[5]?.asked, { kind: "order", target: "child", body: { n: 1 } });
    assert.deepEqual(first?.calls, [{ after: "1h", name: "change-address", body: { street: "it's" } }]);
    assert.deepEqual(first?.expect["message"], "two\n  lines\n");
    assert.equal(second?.name, "other");
});

test("what is written is read as the same", () => {
    const trials = readTrials(readYaml(FILE));
    assert.deepEqual(readTrials(readYaml(toText(trials, "change-tariff.yaml"))), trials);
});

test("texts that look like something else keep their quotes", () => {
    const params = { a: "true", b: "007", c: "", d: "x: y", e: "#no", f: "- x", g: "${x}", h: "null", "k: k": "a\nb", i: " x ", j: "5s", l: "${order.id}", m: "yes" };
    const trial: Trial = { ...emptyTrial("# odd"), params };
    assert.deepEqual(readTrials(readYaml(toText([trial])))[0]?.params, params);
    assert.equal(readTrials(readYaml(toText([trial])))[0]?.name, "# odd");
});

test("long values stand below each other, and are the same", () => {
    const body = { list: Array.from({ length: 30 }, (_, index) => ({ index, text: "so long a text" })), empty: [], none: {} };
    const trial: Trial = { ...emptyTrial("long"), answers: [{ asked: { kind: "http", target: "http://x/**" }, body }] };
    const text = toText([trial]);
    assert.ok(text.split("\n").length > 30);
    assert.deepEqual(readTrials(readYaml(text))[0]?.answers, trial.answers);
});

test("a test that expects nothing says so in the form that the server takes", () => {
    assert.match(toText([emptyTrial("x")]), /expect: \{log: \[\]\}/);
});

test("a text that breaks off is no YAML", () => {
    assert.ok(isYaml(FILE));
    assert.ok(isYaml('{"a": [1, 2]}'));
    assert.ok(!isYaml("{a: 1"));
});
