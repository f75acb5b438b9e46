import assert from "node:assert/strict";
import { test } from "node:test";
import { endOf, makerOf, stateOf, tenantsOf } from "./token";

const NOW = Date.parse("2026-03-01T00:00:00Z");

test("a token is valid until it ends or is revoked", () => {
    assert.equal(stateOf({}, NOW), "valid");
    assert.equal(stateOf({ endsAt: "2026-03-01T00:00:01Z" }, NOW), "valid");
    assert.equal(stateOf({ endsAt: "2026-03-01T00:00:00Z" }, NOW), "expired");
    assert.equal(stateOf({ endsAt: "2026-02-01T00:00:00Z", revokedAt: "2026-01-01T00:00:00Z" }, NOW), "revoked");
});

test("a validity ends after its days, or never", () => {
    assert.equal(endOf("days_30", NOW), "2026-03-31T00:00:00.000Z");
    assert.equal(endOf("unlimited", NOW), undefined);
});

test("the maker of a token is named, or known by address", () => {
    assert.equal(makerOf({ door: "http", from: "10.0.0.7:1", name: "root" }), "root");
    assert.equal(makerOf({ door: "http", from: "10.0.0.7:1", name: null }), "10.0.0.7:1");
    assert.equal(makerOf(null), "");
});

test("tenants are typed apart by commas or spaces", () => {
    assert.deepEqual(tenantsOf(" bank, shop  *"), ["bank", "shop", "*"]);
    assert.deepEqual(tenantsOf(" , "), []);
});
