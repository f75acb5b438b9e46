// UI-5: pages are used by keyboard and over plain HTTP, and show the texts of outsiders as text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { api, data, open, RUN, SERVER, settled, TESTED, waitForStatus, withPage } from "./support.mjs";

test("ui_5_the_served_page has neither styles nor scripts of its own", async () => {
    const response = await fetch(`${SERVER}/`);
    const html = await response.text();
    assert.doesNotMatch(html, /<[^>]+\sstyle\s*=/i);
    assert.doesNotMatch(html, /<style/i);
    assert.doesNotMatch(html, /<[^>]+\son\w+\s*=/i);
    for (const script of html.match(/<script[^>]*>/gi) ?? []) assert.match(script, /\ssrc=/);
    const policy = response.headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
});

test("ui_5_text_is_copied over plain HTTP", async () => {
    const { order } = await data();
    const server = SERVER.replace(new URL(SERVER).hostname, "centre.test");
    await withPage({ server }, async (page) => {
        await open(page, `/audit?subject=${order}`);
        assert.equal(await page.evaluate(() => window.isSecureContext), false, "the context is a plain one");
        await page.getByRole("button", { name: "Request" }).click();
        const line = page.locator(".copy-line", { hasText: "pagurus" }).first();
        const text = await line.locator("code").innerText();
        await line.getByRole("button").click();
        await page.getByText("Copied").waitFor();
        await page.keyboard.press("Control+k");
        await page.getByRole("combobox").last().focus();
        await page.keyboard.press("Control+v");
        assert.equal(await page.locator("dialog").getByRole("combobox").inputValue(), text);
    });
});

test("ui_5_a_page_is_reached_by_keyboard, and the focus is at its title", async () => {
    await withPage({}, async (page) => {
        await open(page, "/");
        await page.keyboard.press("Control+k");
        await page.locator("dialog input").waitFor();
        await page.keyboard.type("audit");
        await page.keyboard.press("Enter");
        await page.waitForURL("**/audit");
        await settled(page);
        await page.waitForFunction(() => document.activeElement?.matches("h1"));
        assert.equal(await page.evaluate(() => document.activeElement.textContent), "Audit");
        assert.match(await page.title(), /^Audit/);
    });
});

test("ui_5_the_first_stop_of_the_keyboard skips to the content", async () => {
    await withPage({}, async (page) => {
        await open(page, "/audit");
        // A page that was loaded has the focus at its title, so the skip link is the last stop of the way back.
        await page.locator(".brand").focus();
        await page.keyboard.press("Shift+Tab");
        assert.ok(await page.locator(":focus").evaluate((one) => one.matches(".skip") && one.getBoundingClientRect().left >= 0));
        await page.keyboard.press("Enter");
        assert.equal(await page.evaluate(() => document.activeElement.id), "content");
        await page.keyboard.press("Tab");
        assert.ok(await page.evaluate(() => document.querySelector("main").contains(document.activeElement)));
    });
});

test("ui_5_escape_closes_what_is_open, and gives the focus back", async () => {
    await withPage({}, async (page) => {
        await open(page, "/access");
        const focused = () => page.evaluate(() => document.activeElement.textContent);
        const opener = page.getByRole("button", { name: "Make a token" });
        await opener.focus();
        await page.keyboard.press("Enter");
        await page.locator("dialog[open]").waitFor();
        await page.keyboard.press("Escape");
        await page.locator("dialog").waitFor({ state: "detached" });
        assert.equal(await focused(), "Make a token");
        await page.keyboard.press("Control+k");
        await page.locator("dialog[open]").waitFor();
        await page.keyboard.press("Escape");
        await page.locator("dialog").waitFor({ state: "detached" });
        assert.equal(await focused(), "Make a token");
        const popover = page.getByRole("button", { name: "Request" });
        await popover.focus();
        await page.keyboard.press("Enter");
        await page.locator(".popover-box").waitFor();
        await page.keyboard.press("Escape");
        await page.locator(".popover-box").waitFor({ state: "detached" });
        assert.ok(await popover.evaluate((one) => one === document.activeElement));
    });
});

/** Markup for each text that outsiders choose: it would leave a mark, or ask another server. */
const MARKUP = `"><img src=x onerror="globalThis.marked=1"><script>globalThis.marked=1</script>`;

async function marked() {
    const scenario = `${RUN}-markup`;
    const text = `scenario: ${scenario}
kind: workflow
description: ${JSON.stringify(MARKUP)}
initialState: a
states:
  a:
    actions:
      - log: "\${params.text}"
      - script: 'vars.kept = params.text; result(#{kept: params.text}); fail(params.text, "markup.found")'
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
`;
    await api("PUT", `/v1/scenarios/${scenario}`, text, "application/yaml");
    const id = `${RUN}${MARKUP}`;
    const order = { id, scenario, transactionId: MARKUP, params: { text: MARKUP }, labels: { markup: MARKUP }, flow: undefined };
    await api("POST", "/v1/orders", { ...order, mode: "sequential", queue: `${RUN}${MARKUP}` });
    await waitForStatus(encodeURIComponent(id), "fail");
    await api("POST", `/v1/orders/${encodeURIComponent(id)}/restart`, { reason: MARKUP });
    await waitForStatus(encodeURIComponent(id), "fail");
    await api("PUT", `/v1/searches/${encodeURIComponent(`${RUN}${MARKUP}`)}`, { status: ["fail"], scenario });
    return { id, scenario };
}

test("ui_5_markup in the texts of outsiders is shown as text on every page", async () => {
    const known = await data();
    const { id, scenario } = await marked();
    const own = [`/orders/${encodeURIComponent(id)}`, `/scenarios/${scenario}`, `/flows/${scenario}`, `/queues/${encodeURIComponent(`${RUN}${MARKUP}`)}`];
    for (const address of [...TESTED.map((route) => route.address(known)), ...own]) {
        await withPage({}, async (page) => {
            await open(page, address);
            const { mark, images } = await page.evaluate(() => ({ mark: globalThis.marked, images: document.querySelectorAll("img[src=x]").length }));
            assert.deepEqual({ address, mark, images, faults: page.faults }, { address, mark: undefined, images: 0, faults: [] });
        });
    }
    // The test would be worth nothing where the page does not show it.
    await withPage({}, async (page) => {
        await open(page, own[0]);
        await page.getByText("onerror=").first().waitFor();
    });
});
