// UI-4: what is seen stands in the address.

import assert from "node:assert/strict";
import { test } from "node:test";
import { data, open, register, RUN, settled, waitForStatus, withPage } from "./support.mjs";

/** Ids of the orders that a page lists. */
async function listed(page) {
    const links = await page.locator('main tbody a[href^="/orders/"]').evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    return [...new Set(links)];
}

test("ui_4_a_filter_of_orders stands in the address, and back shows the same list", async () => {
    const { order, rest } = await data();
    const other = await register(rest);
    await waitForStatus(other, "sleep");
    const address = await withPage({}, async (page) => {
        await open(page, `/orders?idPrefix=${RUN}`);
        const all = await listed(page);
        assert.ok(all.includes(`/orders/${order}`) && all.includes(`/orders/${other}`), `${all}`);
        // The filter is set by what the page offers: the number of orders in the status.
        await page.locator('main a[href*="status=sleep"]').first().click();
        await page.waitForURL(/status=sleep/);
        await page.waitForFunction((gone) => !document.querySelector(`main tbody a[href="${gone}"]`), `/orders/${order}`);
        await settled(page);
        const filtered = await listed(page);
        assert.ok(filtered.includes(`/orders/${other}`), `${filtered}`);
        const filter = page.url();
        await page.locator(`main tbody a[href="/orders/${other}"]`).first().click();
        await page.waitForURL(`**/orders/${other}`);
        await page.goBack();
        await settled(page);
        assert.equal(page.url(), filter);
        assert.deepEqual(await listed(page), filtered);
        return { filter, filtered };
    });
    await withPage({}, async (page) => {
        await open(page, address.filter);
        assert.deepEqual(await listed(page), address.filtered, "a pasted address shows the same");
    });
});

test("ui_4_conditions_of_the_audit_log stand in the address", async () => {
    await data();
    await withPage({}, async (page) => {
        await open(page, "/audit");
        await page.getByLabel("Kind of thing").focus();
        await page.getByLabel("Kind of thing").selectOption("scenario");
        await page.waitForURL(/kind=scenario/);
        assert.ok(await page.getByLabel("Kind of thing").evaluate((one) => one === document.activeElement), "the focus stays where it was");
        await settled(page);
        await page.getByRole("button", { name: /^Details of entry/ }).first().click();
        await page.waitForURL(/entry=\d+/);
        const address = page.url();
        const shown = await page.locator("tr.detail").innerText();
        await page.goto("about:blank");
        await open(page, address);
        assert.equal(await page.locator("tr.detail").innerText(), shown);
    });
});
