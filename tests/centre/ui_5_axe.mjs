// UI-5: everybody can use every page: axe finds nothing, in every theme, language and state.

import assert from "node:assert/strict";
import { test } from "node:test";
import { axe, becomeOld, cutOff, data, emptyAll, failAll, inTheme, LANGUAGES, open, panelStates, TESTED, THEMES, withPage } from "./support.mjs";

/** Asserts that axe finds nothing in either theme. Themes differ by their colours alone, so that the second is held to its contrast. */
async function assertClean(page, what) {
    const [first, ...others] = THEMES;
    await inTheme(page, first);
    assert.deepEqual(await axe(page), [], `${what}, ${first}`);
    for (const theme of others) {
        await inTheme(page, theme);
        assert.deepEqual(await axe(page, ["color-contrast"]), [], `${what}, ${theme}`);
    }
}

for (const route of TESTED) {
    for (const language of LANGUAGES) {
        test(`ui_5_axe_finds_nothing_on ${route.pattern} in ${language}`, async () => {
            const address = route.address(await data());
            await withPage({ language }, async (page) => {
                await open(page, address);
                await assertClean(page, address);
            });
        });
    }

    test(`ui_5_axe_finds_nothing_on ${route.pattern} without data`, async () => {
        const address = route.address(await data());
        await withPage({}, async (page) => {
            await emptyAll(page);
            await open(page, address);
            const states = await panelStates(page);
            if (route.list) assert.ok(states.includes("empty"), `${address} says that it is empty: ${states}`);
            await assertClean(page, `${address} without data`);
        });
    });

    test(`ui_5_axe_finds_nothing_on ${route.pattern} after a failure`, async () => {
        const address = route.address(await data());
        await withPage({}, async (page) => {
            await failAll(page);
            await open(page, address);
            await assertClean(page, `${address} after a failure`);
        });
    });

    test(`ui_5_axe_finds_nothing_on ${route.pattern} with old data`, async () => {
        const address = route.address(await data());
        await withPage({}, async (page) => {
            await page.clock.install();
            await open(page, address);
            await cutOff(page);
            const isOld = await becomeOld(page);
            if (route.list) assert.ok(isOld, `${address} asks again`);
            await assertClean(page, `${address} with old data`);
        });
    });
}
