// UI-4: an operator's day, over real services and by the pages alone: a called system breaks, its cause is found, works are
// planned, the system heals, what failed is restarted, an order that waits in vain is helped on, and the audit log has all of it.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { api, open, settled, statusOf, until, withPage } from "./support.mjs";

const NAME = `day-${Date.now().toString(36)}`;
const FAILED = 8;

/** The system that breaks. */
let broken = false;
const system = createServer((_, response) => {
    response.writeHead(broken ? 500 : 200, { "content-type": "application/json" });
    response.end(broken ? '{"error":"the disk is full"}' : '{"done":true}');
});

const billing = (address) => `scenario: ${NAME}
initialState: charge
targetStates: [done]
states:
  charge:
    entryPoint: true
    actions: [{http: {method: POST, url: "${address}/charges", timeout: 5s}}]
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
`;

const asking = (address) => `scenario: ${NAME}-ask
initialState: ask
targetStates: [done]
states:
  ask:
    actions: [{http: {method: POST, url: "${address}/questions", request: answer}}, {wait: {timeout: 1h}}]
    on: {wait: asked, fail: failed}
  asked: {kind: waiting, on: {callback: done, timeout: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
`;

const orders = Array.from({ length: FAILED }, (_, number) => `${NAME}-${number}`);

before(async () => {
    await new Promise((resolve) => system.listen(0, "127.0.0.1", resolve));
    const address = `http://127.0.0.1:${system.address().port}`;
    await api("PUT", `/v1/scenarios/${NAME}`, billing(address), "application/yaml");
    await api("PUT", `/v1/scenarios/${NAME}-ask`, asking(address), "application/yaml");
});
after(() => system.close());

async function allAre(status) {
    await until(`all orders are ${status}`, async () => (await Promise.all(orders.map(statusOf))).every((one) => one === status));
}

/** Goes to a page by the navigation at the side. */
async function goTo(page, name) {
    await page.locator(".side").getByRole("link", { name, exact: true }).click();
    await page.locator("h1", { hasText: name }).waitFor();
    await settled(page);
}

async function confirm(dialog, button, reason) {
    await dialog.getByLabel("Reason").fill(reason);
    await dialog.getByRole("button", { name: button }).click();
}

test("ui_4_an_operator_finds_the_cause_of_a_failure_cures_it_and_proves_it", async () => {
    broken = true;
    for (const id of orders) await api("POST", "/v1/orders", { id, scenario: NAME });
    await allAre("fail");
    await withPage({}, async (page) => {
        // The overview shows that something fails, and leads to it.
        await open(page, "/");
        const failed = page.locator("a.figure", { hasText: "Failed" });
        await failed.waitFor();

        // Two clicks from the overview: the group of the failure, and an order of it with its cause.
        await goTo(page, "Errors");
        await page.getByRole("link", { name: "Scenario", exact: true }).click();
        const row = page.getByRole("row", { name: NAME });
        await row.waitFor();
        await row.getByRole("link", { name: new RegExp(`^${NAME}-\\d$`) }).first().click();
        await page.locator("h1", { hasText: NAME }).waitFor();
        await page.getByText(/answered 500/).first().waitFor();

        // Works are planned for as long as the cure takes.
        await goTo(page, "Maintenance");
        await page.getByRole("button", { name: "New window…" }).click();
        const window = page.getByRole("dialog");
        await window.getByRole("combobox", { name: "Keyword" }).fill(NAME);
        await window.getByLabel("Length", { exact: true }).fill("2h");
        await confirm(window, "Set the window", "the disk is exchanged");
        await page.getByText(/^Window \d+ is set/).waitFor();
        broken = false;
        const coming = page.getByRole("region", { name: "Open and to come" });
        await coming.getByRole("row", { name: new RegExp(NAME) }).getByRole("link").first().click();
        await page.getByRole("button", { name: "End now" }).first().click();
        await confirm(page.getByRole("dialog").last(), "End now", "the disk is there");
        await page.getByText(/has ended/).first().waitFor();

        // The group is restarted, with its progress.
        await goTo(page, "Errors");
        await page.getByRole("link", { name: "Scenario", exact: true }).click();
        await page.getByRole("button", { name: `Act on all of ${NAME}` }).click();
        const bulk = page.getByRole("dialog");
        await bulk.getByText(`${FAILED} orders would be taken`).waitFor();
        await bulk.getByLabel("Pace").selectOption("all");
        await confirm(bulk, "Begin", "the disk is exchanged");
        await page.waitForURL(/\/operations\/\d+/);
        await allAre("success");
        await page.getByText("done").first().waitFor();
    });
});

test("ui_4_an_operator_helps_an_order_on_that_waits_in_vain_and_the_audit_shows_it", async () => {
    broken = false;
    const id = `${NAME}-waits`;
    await api("POST", "/v1/orders", { id, scenario: `${NAME}-ask` });
    await until("it waits", async () => (await statusOf(id)) === "wait");
    await withPage({}, async (page) => {
        await open(page, "/");
        await page.keyboard.press("Control+k");
        await page.getByRole("dialog").getByRole("combobox").fill(id);
        await page.keyboard.press("Enter");
        await page.locator("h1", { hasText: id }).waitFor();
        await page.getByText(/waits for/).first().waitFor();
        await page.getByRole("link", { name: "Requests" }).click();
        await page.getByRole("button", { name: /Answer by hand/ }).first().click();
        await confirm(page.getByRole("dialog"), /Answer/, "the system was asked by telephone");
        await page.locator(".page-head .badge", { hasText: "success" }).waitFor();
        await goTo(page, "Audit");
        await page.getByText(id).first().waitFor();
        await page.getByText("answer", { exact: false }).first().waitFor();
    });
    assert.equal(await statusOf(id), "success");
});
