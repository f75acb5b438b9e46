// UI-2: times are those of the page's zone, which stands on it; and what happens is seen at once.

import assert from "node:assert/strict";
import { test } from "node:test";
import { quantile, timesToSight } from "./changes.mjs";
import { api, data, open, register, waitForStatus, withPage } from "./support.mjs";

const ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata"];

/** Parts of a time in a zone, counted apart from the pages. */
function partsIn(zone, at) {
    const options = { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
    const parts = Object.fromEntries(new Intl.DateTimeFormat("en-GB", options).formatToParts(new Date(at)).map(({ type, value }) => [type, value]));
    const whole = Math.floor(Date.parse(at) / 1_000) * 1_000;
    const local = Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second);
    const minutes = Math.abs(local - whole) / 60_000;
    const two = (number) => String(number).padStart(2, "0");
    const offset = `UTC${local < whole ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
    return { day: `${parts.year}-${parts.month}-${parts.day}`, time: `${parts.hour}:${parts.minute}:${parts.second}`, offset };
}

for (const zone of ZONES) {
    test(`ui_2_times_are_those_of ${zone}, with offset and UTC beside`, async () => {
        const { order } = await data();
        const { createdAt } = (await api("GET", `/v1/orders?ids=${order}`)).items[0];
        const { day, time, offset } = partsIn(zone, createdAt);
        await withPage({ zone }, async (page) => {
            await open(page, `/orders?ids=${order}`);
            // A former name of a zone is the same zone.
            const shown = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
            assert.equal(await page.locator(".zone").innerText(), `Times in ${shown} (${offset})`);
            const written = page.locator(`main time[datetime="${createdAt}"]`).first();
            const title = await written.getAttribute("title");
            const ms = createdAt.slice(20, 23);
            assert.equal(title, `${day} ${time}.${ms} ${offset}\n${createdAt}`);
            if (/\d\d:\d\d:\d\d/.test(await written.innerText())) assert.ok((await written.innerText()).endsWith(time));
        });
    });
}

test("ui_2_every_time_has_offset_and_utc_in_its_title", async () => {
    const { order } = await data();
    await withPage({ zone: "Asia/Kolkata" }, async (page) => {
        for (const address of [`/orders/${order}`, "/orders", "/audit", "/scenarios"]) {
            await open(page, address);
            const titles = await page.locator("main time").evaluateAll((all) => all.map((one) => one.title));
            for (const title of titles) assert.match(title, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC\+05:30\n\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, address);
        }
    });
});

test("ui_2_the_zone_can_be_utc", async () => {
    await withPage({ zone: "Europe/Berlin" }, async (page) => {
        await open(page, "/audit");
        await page.getByRole("button", { name: /^Times in/ }).click();
        await page.getByLabel("Time zone").selectOption("utc");
        await page.waitForFunction(() => /UTC \(UTC(\+00:00)?\)/.test(document.querySelector(".zone").textContent));
    });
});

/** Changes that are measured. */
const CHANGES = 30;
/** Half of the changes are seen within this time, in ms. Polling alone would take seconds; how slow the slowest is, the machine decides. */
const SOON = 2_000;

for (const [name, addressOf, badgeOf] of [
    ["the list", (id) => `/orders?ids=${id}`, (id) => `main tbody tr:has(a[href="/orders/${id}"]) .badge`],
    ["its page", (id) => `/orders/${id}`, () => "main .page-head .badge"],
]) {
    test(`ui_2_a_change_of_an_order_is_seen_at_once on ${name}`, async (t) => {
        const { ask } = await data();
        const id = await register(ask);
        await waitForStatus(id, "wait");
        await withPage({}, async (page) => {
            await open(page, addressOf(id));
            const took = await timesToSight(page, id, badgeOf(id), CHANGES);
            t.diagnostic(`from a change to its sight on ${name}: p50 ${quantile(took, 0.5)} ms, p99 ${quantile(took, 0.99)} ms of ${took.length}`);
            assert.ok(quantile(took, 0.5) <= SOON, `${took}`);
        });
    });
}
