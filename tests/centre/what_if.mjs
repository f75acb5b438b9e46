// What-if on the page of a flow: CENTRE_FLOW has a record of the last hour.

import assert from "node:assert/strict";
import { test } from "node:test";
import { axe, inTheme, LANGUAGES, open, THEMES, withPage } from "./support.mjs";

const FLOW = process.env.CENTRE_FLOW;

test("dsp_15_a_flow_is_played_through_other_settings, which stand in the address", { skip: !FLOW }, async () => {
    for (const language of LANGUAGES) {
        await withPage({ language }, async (page) => {
            await open(page, `/flows/${FLOW}`);
            let asked = 0;
            page.on("request", (request) => request.url().includes("/what-if") && asked++);
            const summary = page.locator("summary", { hasText: language === "en" ? "What if?" : "Что, если?" });
            await page.waitForTimeout(500);
            assert.equal(asked, 0, "nothing is played before it is opened");
            await summary.focus();
            await page.keyboard.press("Enter");
            const table = page.getByRole("group", { name: language === "en" ? "The last hour, recorded and replayed" : "Последний час: запись и повторы" });
            const came = table.locator("tr", { hasText: language === "en" ? "Stages that came" : "Поступило этапов" });
            await came.waitFor();
            assert.deepEqual(await came.locator("td").allInnerTexts(), ["31", "31", "31"]);
            await page.getByLabel(language === "en" ? "Stages that come, factor" : "Поступающие этапы, множитель").fill("2");
            await came.locator("td", { hasText: "62" }).waitFor();
            assert.match(page.url(), /load=2/);
            for (const theme of THEMES) {
                await inTheme(page, theme);
                assert.deepEqual(await axe(page), [], `${language}, ${theme}`);
            }
            await page.setViewportSize({ width: 320, height: 900 });
            await page.waitForFunction(() => document.documentElement.scrollWidth <= 320);
            assert.deepEqual(page.faults, []);
        });
    }
    await withPage({}, async (page) => {
        await open(page, `/flows/${FLOW}?load=2`);
        await page.getByRole("group", { name: "The last hour, recorded and replayed" }).locator("td", { hasText: "62" }).first().waitFor();
        await page.getByLabel("Stages that come, factor").fill("1000");
        await page.getByText("must be a factor from 0.01 to 100").waitFor();
    });
});
