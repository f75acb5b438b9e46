// The page of an order: an operation is one element until it is opened (SCN-19), and a request says what becomes of the call that
// gives it up (SCN-22).

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { act, api, axe, LANGUAGES, open, register, RUN, until, waitForStatus, withPage } from "./support.mjs";

/** Status with which the system answers the call that gives a request up. */
let taken = 204;
const system = createServer((request, response) => {
    response.writeHead(request.url === "/cancel" ? taken : 200, { "content-type": "application/json" });
    response.end(request.url === "/cancel" ? "" : '{"id":"p-1"}');
});

const PAY = `${RUN}-pay`;
const CHARGE = `${RUN}-charge`;
const NOTE = `${RUN}-note`;
const JOB = `${RUN}-job`;

const scenarios = (address) => ({
    [NOTE]: `scenario: ${NOTE}
kind: operation
actions: [{http: {method: POST, url: "${address}/notes", timeout: 5s}}]
`,
    [CHARGE]: `scenario: ${CHARGE}
kind: operation
actions:
  - http: {method: POST, url: "${address}/charges", timeout: 5s, save: {payment: "\${response.body.id}"}}
  - savepoint: charged
  - do: {operation: ${NOTE}}
  - script: 'result(#{payment: vars.payment})'
`,
    [PAY]: `scenario: ${PAY}
initialState: pay
targetStates: [done]
states:
  pay:
    entryPoint: true
    actions:
      - http: {method: GET, url: "${address}/accounts", timeout: 5s}
      - do: {operation: ${CHARGE}, save: {payment: "\${result.payment}"}}
      - http: {method: GET, url: "${address}/balance", timeout: 5s}
    on: {success: done, fail: failed}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
`,
    [JOB]: `scenario: ${JOB}
initialState: ask
targetStates: [done]
states:
  ask:
    entryPoint: true
    actions:
      - http:
          method: POST
          url: "${address}/jobs"
          timeout: 5s
          request: job
          cancel: {http: {method: POST, url: "${address}/cancel", timeout: 5s}}
      - wait: {timeout: 1h}
    on: {wait: asked, fail: failed}
  asked: {kind: waiting, on: {callback: done, timeout: failed}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
`,
});

before(async () => {
    await new Promise((resolve) => system.listen(0, "127.0.0.1", resolve));
    const all = scenarios(`http://127.0.0.1:${system.address().port}`);
    for (const [name, text] of Object.entries(all)) await api("PUT", `/v1/scenarios/${name}`, text, "application/yaml");
});
after(() => system.close());

test("scn_19_an_operation_is_one_step_that_opens_to_those_inside_it", async () => {
    const id = await register(PAY);
    await waitForStatus(id, "success");
    for (const language of LANGUAGES) {
        await withPage({ language }, async (page) => {
            await open(page, `/orders/${id}?tab=steps`);
            const rows = page.locator("tbody tr");
            assert.equal(await rows.count(), 3, "the operation is one of three rows");
            const operation = page.getByRole("button", { name: `do ${CHARGE}` });
            assert.equal(await operation.getAttribute("aria-expanded"), "false");
            assert.match(await rows.nth(1).innerText(), /2–3/);
            await operation.press("Enter");
            await page.getByRole("button", { name: `do ${NOTE}` }).press("Enter");
            assert.deepEqual(await rows.locator("th code").allInnerTexts().then((all) => all.map((one) => one.split("/").at(-1))), ["accounts", "charges", "notes", "balance"]);
            assert.deepEqual(await axe(page), []);
            await operation.press("Enter");
            assert.equal(await rows.count(), 3);
        });
    }
    // An operation moves the order nowhere: its state is left once.
    const transitions = await api("GET", `/v1/orders/${id}/transitions`);
    assert.deepEqual(transitions.map(({ from, to }) => [from, to]), [["pay", "done"]]);
});

test("scn_19_an_operation_is_one_word_of_the_graph_that_opens_to_its_own", async () => {
    const id = await register(PAY);
    await waitForStatus(id, "success");
    for (const address of [`/orders/${id}`, `/scenarios/${PAY}?tab=graph`]) {
        await withPage({}, async (page) => {
            await open(page, address);
            const inside = page.getByRole("group", { name: "Operations inside" }).first();
            await inside.waitFor();
            assert.equal(await inside.locator("svg").count(), 0);
            // By the word in the picture, and by the line below it.
            await page.locator(`.graph [data-operation="${CHARGE}@1"]`).click();
            await inside.getByRole("link", { name: `${CHARGE}, version 1` }).waitFor();
            await inside.locator("svg").first().waitFor();
            await inside.locator("summary", { hasText: `do ${NOTE}` }).press("Enter");
            await inside.getByRole("link", { name: `${NOTE}, version 1` }).waitFor();
            assert.equal(new URL(page.url()).pathname, address.split("?")[0], "a word of a state is not the state");
            assert.deepEqual(await axe(page), []);
            assert.deepEqual(page.faults, []);
        });
    }
});

test("scn_22_a_request_says_what_becomes_of_the_call_that_gives_it_up", async () => {
    const cancelOf = async (id) => (await api("GET", `/v1/orders/${id}/requests`))[0].cancel;
    const shows = async (id, word, more) =>
        withPage({}, async (page) => {
            await open(page, `/orders/${id}?tab=requests`);
            const row = page.getByRole("row", { name: /^job/ });
            await row.getByText(word, { exact: true }).waitFor();
            if (more) await row.getByText(more).waitFor();
            assert.deepEqual(await axe(page), []);
        });
    for (const [status, word, shown, more] of [
        [204, "done", "made"],
        [503, "pending", "pending", /answered 503/],
        [409, "failed", "failed", /answered 409/],
    ]) {
        taken = status;
        const id = await register(JOB);
        await waitForStatus(id, "wait");
        assert.equal(await cancelOf(id), "ready");
        await shows(id, "ready");
        await act(id, "kill");
        const reached = async () => {
            const [request] = await api("GET", `/v1/orders/${id}/requests`);
            return request.cancel === word && (!more || request.cancelError);
        };
        await until(`the call of ${id} is ${word}`, reached);
        await shows(id, shown, more);
    }
});
