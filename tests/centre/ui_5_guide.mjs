// UI-5: the documentation: its search by keyboard, what is followed from there, axe in both themes, and nothing from elsewhere.

import assert from "node:assert/strict";
import { test } from "node:test";
import { axe, inTheme, THEMES, withPage } from "./support.mjs";

const HOME = "/docs/guide/";

/** Names of the files that a page has loaded. */
function loaded(page) {
    return page.answers.map((answer) => new URL(answer.url()).pathname.slice(HOME.length));
}

test("ui_5_guide the search is opened, asked and followed by keyboard, and its index loaded by the first question", async () => {
    await withPage({}, async (page) => {
        await page.goto(`${HOME}guides-nodes.html`);
        assert.ok(!loaded(page).some((name) => name.startsWith("index-")), "nobody has searched yet");
        await page.keyboard.press("/");
        await page.keyboard.type("pause replay");
        const first = page.locator('#found a').first();
        await first.waitFor();
        assert.match(await first.innerText(), /Receivers[^]*Pause, resume, replay/);
        assert.equal(loaded(page).filter((name) => name.startsWith("index-")).length, 1);
        await page.keyboard.press("ArrowDown");
        assert.equal(await page.evaluate(() => document.activeElement === document.querySelector("#found a")), true, "the first result");
        await page.keyboard.press("ArrowUp");
        assert.equal(await page.evaluate(() => document.activeElement.id), "asked", "the question again");
        await page.keyboard.press("Enter");
        await page.waitForURL(/guides-receivers\.html#pause-resume-replay$/);
        assert.match(await page.locator("h1").innerText(), /^Receivers/);
        // A name of the configuration is found whole, and what nobody wrote is not.
        await page.keyboard.press("Control+k");
        await page.keyboard.type("intake.client_share_percentage");
        await page.locator('#found a').first().waitFor();
        await page.locator("#asked").fill("qqqzzzqqq");
        await page.getByText("Nothing was found").waitFor();
        await page.keyboard.press("Escape");
        assert.equal(await page.locator("dialog").isVisible(), false);
        assert.deepEqual(page.faults, []);
    });
});

/** Asserts that axe finds nothing in either theme: the second is held to its contrast. */
async function assertClean(page, what) {
    for (const [place, theme] of THEMES.entries()) {
        await inTheme(page, theme);
        assert.deepEqual(await axe(page, place === 0 ? undefined : ["color-contrast"]), [], `${what}, ${theme}`);
    }
}

test("ui_5_guide axe finds nothing on three pages in both themes, nor while one searches", async () => {
    await withPage({}, async (page) => {
        for (const name of ["", "configuration.html", "tutorials-first-order.html"]) {
            await page.goto(HOME + name);
            await assertClean(page, name);
        }
        await page.keyboard.press("/");
        await page.keyboard.type("retry");
        await page.locator('#found a').first().waitFor();
        await assertClean(page, "search");
        assert.deepEqual(page.faults, []);
    });
});

test("ui_5_guide pages fit into 320 pixels, and their list, code and theme are at hand there", async () => {
    await withPage({ width: 320 }, async (page) => {
        for (const name of ["", "configuration.html", "guides-sending-orders.html", "laboratory.html", "file-pagurus.yaml.html", "no-such-page.html"]) {
            await page.goto(HOME + name);
            const width = await page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(width <= 320, `${name} is ${width} wide`);
        }
        page.faults = page.faults.filter((fault) => !fault.includes("404"));
        await page.goto(`${HOME}guides-receivers.html`);
        await page.getByText("All pages").click();
        await page.locator(".menu summary", { hasText: "Operate" }).click();
        await page.getByRole("link", { name: "Troubleshooting" }).click();
        assert.equal(await page.locator("h1").innerText(), "Troubleshooting");
        const theme = page.locator("[data-theme-button]");
        const before = await theme.getAttribute("aria-label");
        await theme.click();
        assert.notEqual(await theme.getAttribute("aria-label"), before);
        assert.deepEqual(page.faults, []);
    });
});
