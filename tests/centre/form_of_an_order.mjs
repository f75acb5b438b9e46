// The form of a new order has several receivers of notifications, each with its own occasions and form (ORD-38).

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, axe, data, open, register, RUN, withPage } from "./support.mjs";

const receiver = (page, number) => page.getByRole("group", { name: `Receiver ${number}` });

test("ord_38_a_new_order_has_several_receivers_each_with_its_own_occasions_and_form", async () => {
    const { rest } = await data();
    const id = `${RUN}-receivers`;
    await withPage({}, async (page) => {
        await open(page, `/orders/new?scenario=${rest}`);
        await page.getByLabel("Id *", { exact: true }).fill(id);
        await receiver(page, 1).getByLabel("Address").fill("amqp://?key=a");
        await page.getByRole("button", { name: "Add a receiver" }).click();
        await receiver(page, 2).getByLabel("Address").fill("foo://b");
        await receiver(page, 2).getByRole("checkbox", { name: "parked" }).check();
        await receiver(page, 2).getByLabel("Format").selectOption("cloudevents");
        // What is wrong with one stands at that one.
        await page.getByRole("button", { name: "Create the order" }).click();
        await receiver(page, 2).getByRole("alert").waitFor();
        assert.equal(await receiver(page, 1).getByRole("alert").count(), 0);
        await receiver(page, 2).getByLabel("Address").fill("amqp://?key=b");
        assert.deepEqual(await axe(page), []);
        await page.getByRole("button", { name: "Create the order" }).click();
        // The server remarks that there is no correlation id.
        await page.getByRole("link", { name: "Open the order" }).click();
        await page.waitForURL(`**/orders/${id}`);
        assert.deepEqual(page.faults.filter((one) => !one.includes("422")), []);
    });
    const { notify } = await api("GET", `/v1/orders/${id}`);
    assert.equal(notify.length, 2);
    assert.deepEqual([notify[0].url, notify[1].url], ["amqp://?key=a", "amqp://?key=b"]);
    assert.deepEqual([notify[1].on, notify[1].format], [["parked"], "cloudevents"]);
    await api("POST", `/v1/orders/${id}/cancel`, { reason: "end of the test" });
});

test("ord_38_a_clone_has_the_receivers_of_the_old_order_and_those_that_were_changed", async () => {
    const { rest } = await data();
    const notify = [{ url: "amqp://?key=a", on: ["final", "parked"] }, { url: "amqp://?key=b", format: "cloudevents" }, { url: "amqp://?key=c" }];
    const old = await register(rest, { notify });
    const id = `${RUN}-clone`;
    await withPage({}, async (page) => {
        await open(page, `/orders/new?clone=${old}`);
        await page.getByLabel("Id *", { exact: true }).fill(id);
        assert.equal(await receiver(page, 3).getByLabel("Address").inputValue(), "amqp://?key=c");
        await receiver(page, 1).getByRole("button", { name: "Remove Receiver 1" }).click();
        await receiver(page, 2).getByRole("checkbox", { name: "jeopardy" }).check();
        await page.getByRole("button", { name: "Create the clone" }).click();
        await page.getByRole("link", { name: "Open the order" }).click();
        await page.waitForURL(`**/orders/${id}`);
    });
    const clone = await api("GET", `/v1/orders/${id}`);
    assert.deepEqual(clone.notify.map((one) => one.url), ["amqp://?key=b", "amqp://?key=c"]);
    assert.deepEqual([clone.notify[0].format, clone.notify[1].on], ["cloudevents", ["final", "jeopardy"]]);
    await api("POST", `/v1/orders/${id}/cancel`, { reason: "end of the test" });
});

test("ord_38_a_form_has_eight_receivers_at_most", async () => {
    await withPage({}, async (page) => {
        await open(page, "/orders/new");
        const add = page.getByRole("button", { name: "Add a receiver" });
        for (let count = 1; count < 8; count += 1) await add.click();
        assert.ok(await add.isDisabled());
        await receiver(page, 8).waitFor();
        await page.getByText("An order has 8 receivers at most.").waitFor();
    });
});
