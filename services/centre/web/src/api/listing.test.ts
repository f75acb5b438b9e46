import assert from "node:assert/strict";
import { test } from "node:test";
import { lastStart, nextOf } from "./listing";

test("a relative link is resolved against the address that was asked", () => {
    const url = "/v1/orders/A%2F1/events?limit=3";
    assert.equal(nextOf('<?limit=3&after=3>; rel="next"', url), "/v1/orders/A%2F1/events?limit=3&after=3");
    assert.equal(nextOf('</v1/x?cursor=4>; rel="next"', url), "/v1/x?cursor=4");
});

test("only the link to the next page counts", () => {
    assert.equal(nextOf(null, "/v1/x"), undefined);
    assert.equal(nextOf('<?cursor=1>; rel="prev"', "/v1/x"), undefined);
    assert.equal(nextOf('<?cursor=1>; rel="prev", <?cursor=3>; rel="next"', "/v1/x"), "/v1/x?cursor=3");
});

test("the last page of a numbered list is found in few questions", async () => {
    for (const rows of [0, 1, 99, 100, 101, 200, 201, 20_000, 20_001]) {
        let asked = 0;
        const start = await lastStart(100, (number) => {
            asked += 1;
            return Promise.resolve(number < rows);
        });
        assert.equal(start, Math.max(0, Math.ceil(rows / 100) - 1) * 100, `${rows} rows`);
        assert.ok(asked <= 17, `${asked} questions for ${rows} rows`);
    }
});
