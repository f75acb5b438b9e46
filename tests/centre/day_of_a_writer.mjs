// UI-6: a writer's day in the workbench alone: from an empty page to a scenario that is live, with its test. A fault is shown while
// it is typed, names are completed, a failure is tried before it happens, and nothing has an effect until it is applied.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { api, open, SERVER, settled, statusOf, until, waitForStatus, withPage } from "./support.mjs";

const NAME = `write-${Date.now().toString(36)}`;

let asked = 0;
const system = createServer((_, response) => {
    asked += 1;
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"number":"42"}');
});

before(() => new Promise((resolve) => system.listen(0, "127.0.0.1", resolve)));
after(() => system.close());

/** A scenario whose call leads to a state. The names of the states stand before that place. */
function textOf(target) {
    return `scenario: ${NAME}
params:
  type: object
  properties: {msisdn: {type: string}}
initialState: reserve
targetStates: [done]
states:
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
  reserve:
    entryPoint: true
    actions:
      - http:
          method: POST
          url: "http://127.0.0.1:${system.address().port}/numbers"
          timeout: 5s
          save: {number: "\${response.body.number}"}
    on: {fail: failed, success: ${target}}
`;
}

async function write(page, text) {
    const editor = page.getByRole("textbox", { name: "Scenario" });
    await editor.click();
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(text);
}

test("ui_6_a_scenario_goes_from_an_empty_page_to_live_with_its_test_in_the_workbench_alone", async () => {
    await withPage({}, async (page) => {
        await open(page, "/workbench");
        await write(page, textOf("doen"));
        await page.getByText(/doen/).first().waitFor();
        await page.getByText("1 fault").first().waitFor();

        // Completion knows the states of the text.
        await write(page, textOf("|").split("|")[0]);
        await page.keyboard.press("Control+Space");
        await page.getByRole("option", { name: /^done/ }).waitFor();
        await page.keyboard.press("Escape");
        await write(page, textOf("done"));
        await page.getByText("Sound").first().waitFor();

        // The graph is drawn, and the trial has run by itself: the answer lacks what the scenario reads of it.
        await page.locator('.graph g[data-state="reserve"]').waitFor();
        await page.getByText(/there is no/).first().waitFor();
        await page.getByRole("button", { name: "http **" }).first().click();
        const answer = page.getByRole("dialog");
        await answer.getByLabel("Body", { exact: true }).fill("{number: 42}");
        await answer.getByRole("button", { name: "Save" }).click();
        await page.getByText(/the order ends `?success/).first().waitFor();

        // What no test reaches is named, and drawn with broken lines.
        await page.getByText("The tests reach 2 of 3 states and 1 of 2 transitions.").waitFor();
        await page.getByText("No test reaches 2 parts").click();
        await page.getByRole("listitem").filter({ hasText: "reserve fail to failed" }).waitFor();
        await page.locator('.graph g[data-events="fail"].missed').waitFor();

        // What would a 503 do here? One click on the call.
        await page.getByRole("button", { name: "What would a 503 do here?" }).first().click();
        await page.getByText(/numbers: 503/).first().waitFor();
        await page.getByRole("listitem").filter({ hasText: "reserve success to done" }).waitFor();
        assert.equal(asked, 0, "a trial asks nobody");

        // Its test is a file to keep.
        await page.getByRole("button", { name: "The test as a file" }).or(page.getByText("The test as a file")).first().waitFor();

        await page.getByRole("button", { name: "Apply", exact: true }).first().click();
        const dialog = page.getByRole("dialog");
        await dialog.getByText("This is the first version").waitFor();
        await dialog.getByRole("button", { name: "Apply" }).click();
        await dialog.getByText("Version 1 is the newest now").waitFor();
    });
    const stored = await (await fetch(`${SERVER}/v1/scenarios/${NAME}`)).text();
    assert.equal(stored, textOf("done"));

    // It is live: an order by the form of its own parameters runs it.
    await withPage({}, async (page) => {
        await open(page, `/orders/new?scenario=${NAME}`);
        await page.getByLabel("msisdn").fill("79110000001");
        await page.locator('main button[type="submit"]').click();
        await page.waitForURL((url) => url.pathname.startsWith("/orders/") && url.pathname !== "/orders/new");
        await settled(page);
        await page.locator(".page-head .badge", { hasText: "success" }).waitFor();
        const id = decodeURIComponent(new URL(page.url()).pathname.split("/").at(-1));
        await until("it has ended", async () => (await statusOf(id)) === "success");
        assert.equal((await api("GET", `/v1/orders/${id}`)).vars.number, "42");
    });
    assert.equal(asked, 1);
});

/** Orders of the first kind sleep in a state that the new text may name otherwise, the others in one that stays. */
function sleeping(state) {
    return `scenario: ${NAME}-naps
initialState: begin
targetStates: [done]
states:
  begin: {actions: [{script: "if params.long { success() }"}, {sleep: {for: 1h}}], on: {success: long, sleep: short, fail: failed}}
  short: {kind: sleeping, on: {timeout: done}}
  long: {actions: [{sleep: {for: 2h}}], on: {sleep: ${state}}}
  ${state}: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
`;
}

test("ui_6_before_a_version_is_applied_it_says_which_live_orders_could_move_to_it", async () => {
    await api("PUT", `/v1/scenarios/${NAME}-naps`, sleeping("resting"), "application/yaml");
    for (const [id, long] of [["stays", true], ["moves", false]]) {
        await api("POST", "/v1/orders", { id: `${NAME}-${id}`, scenario: `${NAME}-naps`, params: { long } });
        await waitForStatus(`${NAME}-${id}`, "sleep");
    }
    await withPage({}, async (page) => {
        await open(page, `/workbench/${NAME}-naps`);
        await page.getByText("resting").first().waitFor();
        await write(page, sleeping("dozing"));
        await page.getByText("Sound").first().waitFor();
        await page.getByRole("button", { name: "Apply", exact: true }).first().click();
        const preview = page.getByRole("dialog").getByRole("region", { name: "Live orders of version 1 under this text" });
        await preview.getByText("1 order would move; 1 order would stay.").waitFor();
        await preview.getByText(/the new version has no state `resting`/).waitFor();
        assert.equal(await preview.getByRole("link").innerText(), `${NAME}-stays`);
        assert.equal(await preview.getByRole("button").count(), 0, "nothing can be moved to a text that is not applied");
    });
    assert.equal((await api("GET", `/v1/orders/${NAME}-moves`)).scenarioVersion, 1);
});
