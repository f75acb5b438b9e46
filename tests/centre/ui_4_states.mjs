// UI-4: a page shows what it knows, and since when: nothing that failed or is old looks empty or healthy. UI-5: in these states,
// too, axe finds nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertClean, becomeOld, cutOff, data, failAll, open, panelStates, TESTED, withPage } from "./support.mjs";

/** What says that something is well. Beside the panels, words of filters have the colours of what they stand for. */
const VERDICTS = "main .panel .badge.good, main .note.good, main .panel .good-text";

async function assertNoVerdict(page, address) {
    const verdicts = await page.locator(VERDICTS).allInnerTexts();
    assert.deepEqual(verdicts, [], `${address} calls nothing healthy`);
}

for (const [name, fail, words] of [
    ["a failure of the server", failAll, /the database is away/],
    ["a server that is away", cutOff, /does not answer/],
]) {
    for (const route of TESTED) {
        test(`ui_4_ui_5_${route.pattern} says so at ${name}`, async () => {
            const address = route.address(await data());
            await withPage({}, async (page) => {
                let asked = 0;
                page.on("request", (request) => /\/v1\/(?!session|stream)/.test(request.url()) && asked++);
                await fail(page);
                await open(page, address);
                const states = await panelStates(page);
                assert.ok(!states.includes("empty") && !states.includes("fresh") && !states.includes("old"), `${address}: ${states}`);
                await assertNoVerdict(page, address);
                // What is asked of a text that was opened comes a moment after the page.
                if (asked > 0) await page.locator("main").getByText(words).first().waitFor();
                await assertClean(page, `${address} at ${name}`);
            });
        });
    }
}

for (const route of TESTED) {
    test(`ui_4_ui_5_${route.pattern} is old with its time while the server is away, and fresh again afterwards`, async () => {
        const address = route.address(await data());
        await withPage({}, async (page) => {
            await page.clock.install();
            await open(page, address);
            const before = await panelStates(page);
            assert.ok(before.every((state) => state === "fresh" || state === "empty"), `${address}: ${before}`);
            await cutOff(page);
            const isOld = await becomeOld(page);
            await assertClean(page, `${address} with old data`);
            if (!isOld) return assert.ok(!route.list && !route.asksAgain, `${address} asks again`);
            const note = await page.locator(".old-note").first().innerText();
            assert.match(note, /^Old since .*\d\d:\d\d:\d\d: .*does not answer/);
            await assertNoVerdictInOld(page, address);
            await page.unrouteAll({ behavior: "ignoreErrors" });
            await page.clock.runFor(61_000);
            await page.waitForFunction(() => !document.querySelector('main .panel[data-state="old"], main .panel[data-state="failed"], main .panel[data-state="waiting"]'));
        });
    });
}

/** Notes of advice stand in no panel that is old; words of the engine that stand in its data may. */
async function assertNoVerdictInOld(page, address) {
    const advice = await page.locator('main .panel[data-state="old"] .note.good').allInnerTexts();
    assert.deepEqual(advice, [], `${address} gives no advice from old data`);
}
