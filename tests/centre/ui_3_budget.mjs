// UI-3: a page costs what it shows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { data, isData, LANGUAGES, open, TESTED, withPage } from "./support.mjs";

const REQUESTS = 3;
/** Of the workbench: the text and its version, and what check, drawing and trial say of it. */
const REQUESTS_OF_WORKBENCH = 5;
/** A page that loads within this time, in ms, has not asked again: neither because a stream opened late nor by its interval. */
const QUICK = 400;
const ANSWERS = 100 * 1024;
const NODES = 3_000;
/** Scripts and styles of the first load, compressed, once what comes last is there: the charts, and the editor. */
const CODE = {
    "/": { most: 60 * 1024, last: ".chart .chart-line" },
    "/workbench": { most: 220 * 1024, last: ".cm-content" },
};

for (const route of TESTED) {
    const most = route.pattern.startsWith("/workbench") ? REQUESTS_OF_WORKBENCH : REQUESTS;
    test(`ui_3_${route.pattern} loads by ${most} requests, and stays small`, async (t) => {
        const address = route.address(await data());
        await withPage({}, async (page) => {
            const begun = Date.now();
            await open(page, address);
            const took = Date.now() - begun;
            // The stream is one connection that stays open: it has no answer to wait for.
            const asked = page.answers.filter((answer) => isData(new URL(answer.url())) && !answer.url().includes("/v1/stream"));
            const sizes = await Promise.all(asked.map(async (answer) => (await answer.body()).length));
            const size = sizes.reduce((sum, one) => sum + one, 0);
            const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
            t.diagnostic(`${address}: ${asked.length} requests, ${(size / 1024).toFixed(1)} KiB, ${nodes} nodes`);
            // Where loading takes its time, the page has begun to ask again: what it asked for counts, not how often.
            const urls = asked.map((answer) => answer.url());
            const requests = took < QUICK ? urls : [...new Set(urls)];
            assert.ok(requests.length <= most, urls.join("\n"));
            assert.ok(size <= ANSWERS, `${size} bytes`);
            assert.ok(nodes <= NODES, `${nodes} nodes`);
        });
    });
}

for (const [address, { most, last }] of Object.entries(CODE)) {
    for (const language of LANGUAGES) {
        test(`ui_3_code_of ${address} in ${language} is small`, async (t) => {
            await withPage({ language }, async (page) => {
                await open(page, address);
                await page.locator(last).first().waitFor({ state: "attached" });
                const code = page.answers.filter((answer) => ["script", "stylesheet"].includes(answer.request().resourceType()));
                const sizes = await Promise.all(code.map(async (answer) => gzipSync(await answer.body(), { level: 9 }).length));
                const size = sizes.reduce((sum, one) => sum + one, 0);
                t.diagnostic(`${address}: ${(size / 1024).toFixed(1)} KiB of code, compressed`);
                assert.ok(size > 0 && size <= most, `${size} bytes`);
            });
        });
    }
}
