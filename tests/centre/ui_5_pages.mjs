// UI-5: everybody can use every page, in every theme and language and at any width, also where there is nothing to show. The states
// of failed and of old data are looked at where they are made (ui_4_states.mjs).

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertClean, data, emptyAll, LANGUAGES, open, panelStates, TESTED, withPage } from "./support.mjs";

for (const route of TESTED) {
    for (const language of LANGUAGES) {
        test(`ui_5_${route.pattern} in ${language} keeps to the policy, has targets of 24 px and one title, fits into 320 px, and axe finds nothing`, async () => {
            const address = route.address(await data());
            await withPage({ language }, async (page) => {
                await open(page, address);
                assert.deepEqual(page.faults, [], "it asks no other server, keeps to the policy, and says no error");
                assert.deepEqual(await page.evaluate(tooSmall), []);
                assert.equal(await page.locator("h1").count(), 1);
                await assertClean(page, address);
                await page.setViewportSize({ width: 320, height: 900 });
                // Charts are drawn again a moment after the page is narrower.
                await page.waitForFunction(() => document.documentElement.scrollWidth <= 320, undefined, { timeout: 10_000 }).catch(() => undefined);
                const width = await page.evaluate(() => document.documentElement.scrollWidth);
                assert.ok(width <= 320, `${address} is ${width} px wide: ${await page.evaluate(tooWide)}`);
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
}

/**
 * Targets smaller than 24 px that stand too near to others, as WCAG 2.5.8 counts: a circle of 24 px around a small one meets no
 * other target. Links within a line of text are left out.
 */
function tooSmall() {
    const SIZE = 24;
    const selector = "a[href], button, input, select, textarea, summary, [role=button], [role=option], [role=tab], [role=checkbox]";
    const boxOf = (one) => {
        const { left, top, width, height } = one.getBoundingClientRect();
        return { one, left, top, width, height, x: left + width / 2, y: top + height / 2 };
    };
    const isSeen = ({ one, width, height }) => width > 0 && height > 0 && one.checkVisibility({ visibilityProperty: true }) && !one.matches(".skip, .hidden-text *");
    const targets = [...document.querySelectorAll(selector)].map(boxOf).filter(isSeen);
    const isSmall = ({ width, height }) => width < SIZE - 0.5 || height < SIZE - 0.5;
    const inText = ({ one }) => getComputedStyle(one).display === "inline" && [...one.parentElement.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== "");
    const distance = (from, to) => Math.hypot(Math.max(to.left - from.x, 0, from.x - to.left - to.width), Math.max(to.top - from.y, 0, from.y - to.top - to.height));
    const meets = (small) =>
        targets.some((other) => {
            if (other === small || other.one.contains(small.one) || small.one.contains(other.one)) return false;
            return isSmall(other) ? Math.hypot(other.x - small.x, other.y - small.y) < SIZE : distance(small, other) < SIZE / 2;
        });
    return targets.filter((one) => isSmall(one) && !inText(one) && meets(one)).map(({ one, width, height }) => `${Math.round(width)}×${Math.round(height)} ${one.outerHTML.slice(0, 120)}`);
}

/** What stands out of a narrow page, but for what scrolls in a frame of its own. */
function tooWide() {
    const scrolls = (one) => one !== document.documentElement && one !== document.body && ["auto", "scroll", "hidden"].includes(getComputedStyle(one).overflowX);
    const framed = (one) => {
        for (let at = one.parentElement; at; at = at.parentElement) if (scrolls(at)) return true;
        return false;
    };
    const wide = [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !framed(one));
    return wide.slice(0, 5).map((one) => one.outerHTML.slice(0, 120)).join("\n");
}
