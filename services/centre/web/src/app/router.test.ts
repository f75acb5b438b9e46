import assert from "node:assert/strict";
import { test } from "node:test";
import { ROUTES } from "./pages";
import { match, to, toWith } from "./router";

test("a pattern fits paths of its words, and takes out the values", () => {
    assert.deepEqual(match("/orders/:id", "/orders/A-1"), { id: "A-1" });
    assert.deepEqual(match("/orders", "/orders"), {});
    assert.deepEqual(match("/", "/"), {});
    assert.equal(match("/orders/:id", "/orders"), undefined);
    assert.equal(match("/orders/:id", "/orders/"), undefined);
    assert.equal(match("/orders/:id", "/orders/A-1/more"), undefined);
    assert.equal(match("/orders", "/flows"), undefined);
});

test("values come out of an address as they went in", () => {
    for (const id of ["A-1", "a/b", "ü ö", "100%", "?#&=", "..", "заявка"]) {
        assert.deepEqual(match("/orders/:id", to("orders", id)), { id });
    }
});

test("a path that is wrongly escaped is taken as it is", () => {
    assert.deepEqual(match("/orders/:id", "/orders/100%"), { id: "100%" });
});

test("a page with a query has its values escaped, and no empty ones", () => {
    assert.equal(toWith("orders", { status: ["fail", "retry"], text: "a&b", cursor: undefined }), "/orders?status=fail&status=retry&text=a%26b");
    assert.equal(toWith("orders", {}), "/orders");
});

test("the first route that fits an address is the most exact one", () => {
    const routeOf = (path: string) => ROUTES.find((route) => match(route.pattern, path))?.pattern;
    assert.equal(routeOf("/orders/new"), "/orders/new");
    assert.equal(routeOf("/orders/news"), "/orders/:id");
    assert.equal(routeOf("/nowhere"), undefined);
});
