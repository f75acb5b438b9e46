import { test } from "node:test";
import assert from "node:assert/strict";
import { isHit, stoppedFirst } from "./rank";

test("what stands still comes first, and of one state the names decide", () => {
    const all = ["enabled b", "limited c", "stopped z", "enabled a", "disabled_manually d", "probing e"].map((text) => {
        const [state = "", name = ""] = text.split(" ");
        return { state, name };
    });
    assert.deepEqual(stoppedFirst(all, (one) => one.name).map((one) => one.name), ["z", "d", "e", "c", "a", "b"]);
    assert.equal(all[0]?.name, "b");
});

test("a state that is not known stands at the end", () => {
    assert.deepEqual(stoppedFirst([{ state: "new" }, { state: "slowing" }], () => "").map((one) => one.state), ["slowing", "new"]);
});

test("a keyword hits names that contain it", () => {
    assert.equal(isHit("tariff", "change-tariff|200"), true);
    assert.equal(isHit("Tariff", "change-tariff"), false);
});
