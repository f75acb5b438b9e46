// What the tests of the control centre share: the browser, pages of it, the engine's API, and waiting for conditions.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after } from "node:test";
import { chromium } from "playwright-core";

/** Address of an engine that serves API and pages. */
export const SERVER = (process.env.PAGURUS_SERVER ?? "").replace(/\/$/, "");
assert.notEqual(SERVER, "", "PAGURUS_SERVER names the engine that serves the pages");

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

export const THEMES = ["light", "dark"];
export const LANGUAGES = ["en", "ru"];

/** What the orders, scenarios and operations of this run are named by. */
export const RUN = `centre-${Date.now().toString(36)}`;
const QUEUE = "centre-queue";

/** Pages of src/app/pages.ts. `list`: with nothing to show it says so. Lists, and pages with `asksAgain`, ask as long as they are seen. */
export const ROUTES = [
    { pattern: "/", address: () => "/", asksAgain: true },
    { pattern: "/orders", address: () => "/orders", list: true },
    { pattern: "/orders/new", address: () => "/orders/new" },
    { pattern: "/orders/:id", address: (data) => `/orders/${data.order}`, asksAgain: true },
    { pattern: "/errors", address: () => "/errors", list: true },
    { pattern: "/operations", address: () => "/operations", list: true },
    { pattern: "/operations/:no", address: (data) => `/operations/${data.operation}` },
    { pattern: "/flows", address: () => "/flows", list: true },
    { pattern: "/flows/:flow", address: (data) => `/flows/${data.flow}` },
    { pattern: "/systems/:name", address: (data) => `/systems/${encodeURIComponent(data.system)}` },
    { pattern: "/windows", address: () => "/windows", list: true },
    { pattern: "/subscriptions", address: () => "/subscriptions", list: true },
    { pattern: "/schedules", address: () => "/schedules", list: true },
    { pattern: "/queues", address: () => "/queues", list: true },
    { pattern: "/queues/:name", address: (data) => `/queues/${data.queue}` },
    { pattern: "/refused", address: () => "/refused", list: true },
    { pattern: "/scenarios", address: () => "/scenarios", list: true },
    { pattern: "/scenarios/:name", address: (data) => `/scenarios/${data.scenario}` },
    { pattern: "/workbench", address: () => "/workbench" },
    { pattern: "/workbench/:name", address: (data) => `/workbench/${data.scenario}` },
    { pattern: "/deployment", address: () => "/deployment", asksAgain: true },
    { pattern: "/audit", address: () => "/audit", list: true },
    { pattern: "/access", address: () => "/access", list: true },
];

/** Routes that are tested: all, or those that `CENTRE_ROUTES` names, separated by commas. */
export const TESTED = ROUTES.filter((route) => !process.env.CENTRE_ROUTES || process.env.CENTRE_ROUTES.split(",").includes(route.pattern));

// The API.

/** Asks the engine, and takes the JSON of a good answer. */
export async function api(method, path, body, mediaType = "application/json") {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(SERVER + path, { method, body: text, headers: text === undefined ? {} : { "content-type": mediaType } });
    const answer = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${answer}`);
    return answer === "" ? undefined : JSON.parse(answer);
}

/** Far longer than anything takes, also where many tests share a machine. */
const PATIENCE = 90_000;

/** Waits until something is so, and gives what it found. */
export async function until(what, find, patience = PATIENCE) {
    const end = Date.now() + patience;
    for (;;) {
        const found = await find();
        if (found) return found;
        assert.ok(Date.now() < end, `waited in vain until ${what}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

/** Rests in the status `sleep` until somebody acts on it. */
const REST = "centre-rest";
/** Asks the engine for its health, so that there is a flow and a called system; waits then in the status `wait`, and fails at the answer. */
const ASK = "centre-ask";

const SCENARIOS = {
    [REST]: `scenario: ${REST}
kind: workflow
description: Sleeps for an hour
initialState: begin
targetStates: [done]
states:
  begin: {entryPoint: true, actions: [{sleep: {for: 1h}}], on: {sleep: sleeping}}
  sleeping: {kind: sleeping, on: {timeout: done}}
  done: {kind: terminal}
`,
    [ASK]: `scenario: ${ASK}
kind: workflow
description: Asks a system, and fails when it answers
initialState: ask
targetStates: [done]
states:
  ask:
    entryPoint: true
    actions:
      - http: {method: GET, url: "${SERVER}/healthz", timeout: 5s, request: answer}
      - wait: {timeout: 1h}
    on: {wait: waiting, fail: failed}
  waiting: {kind: waiting, on: {callback: failed, timeout: done}}
  done: {kind: terminal}
  failed: {kind: terminal, outcome: fail}
`,
};

/** A schedule and a subscription, so that their pages have a row; they are removed at the end of the run. */
const KEPT = [
    [`/v1/schedules/${RUN}`, { every: "1h", order: { scenario: REST }, paused: true }],
    [`/v1/subscriptions/${RUN}`, { url: "amqp://?key=centre", scenarios: [RUN] }],
];

const registered = [];
let count = 0;

/** Registers an order, and gives its id. It is cancelled at the end of the run. */
export async function register(scenario, more = {}) {
    const id = `${RUN}-${++count}`;
    await api("POST", "/v1/orders", { id, scenario, ...more });
    registered.push(id);
    return id;
}

/** Acts on an order: `restart`, or `requests/answer/answer` for the answer that it waits for. */
export async function act(id, action) {
    return api("POST", `/v1/orders/${id}/${action}`, { reason: "test of the control centre" });
}

export async function statusOf(id) {
    return (await api("GET", `/v1/orders/${id}/status`)).status;
}

export async function waitForStatus(id, status) {
    await until(`${id} is ${status}`, async () => (await statusOf(id)) === status);
}

let prepared;

/** Data for every route: an order, a queue, a flow, a called system, an operation. Made once a run. */
export function data() {
    prepared ??= prepare();
    return prepared;
}

async function prepare() {
    for (const [name, text] of Object.entries(SCENARIOS)) await api("PUT", `/v1/scenarios/${name}`, text, "application/yaml");
    const order = await register(ASK);
    const first = await register(REST, { mode: "sequential", queue: QUEUE });
    await register(REST, { mode: "sequential", queue: QUEUE });
    await waitForStatus(order, "wait");
    await waitForStatus(first, "sleep");
    const { operation } = await api("POST", "/v1/operations", { action: "check", search: { idPrefix: RUN }, reason: "test of the control centre" });
    for (const [path, rule] of KEPT) await api("PUT", path, rule);
    const system = new URL(SERVER).host;
    const shows = async (path) => (await fetch(SERVER + path)).ok;
    await until("the engine shows flow and system", async () => (await shows(`/v1/flows/${ASK}`)) && (await shows(`/v1/systems/${encodeURIComponent(system)}`)));
    return { order, queue: QUEUE, flow: ASK, scenario: ASK, system, operation: operation.no, rest: REST, ask: ASK };
}

// The browser.

let launched;

/** The one browser of the run. `centre.test` is this machine too: a name that is no secure context, as in a plain network. */
export function browser() {
    launched ??= chromium.launch({
        executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
        args: ["--no-sandbox", `--host-resolver-rules=MAP centre.test ${new URL(SERVER).hostname}`],
    });
    return launched;
}

after(async () => {
    await (await launched)?.close();
    // An order that waits is killed, one that rests or has failed is given up.
    const headers = { "content-type": "application/json" };
    for (const id of registered) {
        for (const action of ["kill", "cancel"]) {
            const { ok } = await fetch(`${SERVER}/v1/orders/${id}/${action}`, { method: "POST", headers, body: '{"reason":"end of the test"}' });
            if (ok) break;
        }
    }
    if (prepared) for (const [path] of KEPT) await fetch(SERVER + path, { method: "DELETE" });
});

/**
 * Opens a page in a context of its own, does something with it, and closes both. What the page did wrong stands in `page.faults`:
 * errors, violations of the policy, requests to other servers.
 */
export async function withPage(options, work) {
    const { theme = "light", language = "en", zone = "UTC", width = 1280, server = SERVER } = options;
    const context = await (await browser()).newContext({ baseURL: server, viewport: { width, height: 900 }, timezoneId: zone, colorScheme: theme });
    await context.addInitScript(
        ([theme, language]) => {
            localStorage.setItem("pagurus.theme", theme);
            localStorage.setItem("pagurus.language", language);
            document.addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
        },
        [theme, language],
    );
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    page.faults = [];
    page.answers = [];
    page.on("pageerror", (error) => page.faults.push(`error: ${error.stack ?? error}`));
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.faults.push(`console: ${message.text()}`));
    page.on("request", (request) => {
        const { protocol, origin } = new URL(request.url());
        if (protocol !== "data:" && protocol !== "blob:" && origin !== server) page.faults.push(`foreign request: ${request.url()}`);
    });
    page.on("response", (response) => page.answers.push(response));
    try {
        return await work(page);
    } finally {
        await page.unrouteAll({ behavior: "ignoreErrors" });
        await context.close();
    }
}

/** Opens an address, and waits until it shows what it has. */
export async function open(page, address) {
    await page.goto(address);
    await settled(page);
}

/** Waits until the page has its title and no panel waits for its first answer. States of graphs have `data-state` too. */
export async function settled(page) {
    const state = () => {
        const main = document.querySelector("main");
        if (!main || main.querySelector(".page-loading")) return undefined;
        if (main.childElementCount === 0) return "draft";
        return main.querySelector("h1") && !main.querySelector('.panel[data-state="waiting"]') ? "settled" : undefined;
    };
    const found = await page.waitForFunction(state, undefined, { timeout: PATIENCE });
    assert.equal(await found.jsonValue(), "settled", `${page.url()} shows nothing`);
}

/** Violations that axe finds, as lines. */
export async function axe(page, rules = AXE_RULES) {
    if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
    const { violations } = await page.evaluate((rules) => globalThis.axe.run({ runOnly: rules, resultTypes: ["violations"] }), rules);
    // A few places of each kind say enough.
    return violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map((node) => `${id}: ${node.html.slice(0, 200)} ${node.any[0]?.message ?? node.failureSummary ?? ""}`));
}

/** Asserts that axe finds nothing in either theme. Themes differ by their colours alone, so that the second is held to its contrast. */
export async function assertClean(page, what) {
    const [first, ...others] = THEMES;
    await inTheme(page, first);
    assert.deepEqual(await axe(page), [], `${what}, ${first}`);
    for (const theme of others) {
        await inTheme(page, theme);
        assert.deepEqual(await axe(page, ["color-contrast"]), [], `${what}, ${theme}`);
    }
}

/** Shows the page in another theme. */
export async function inTheme(page, theme) {
    await page.evaluate((theme) => (document.documentElement.dataset.theme = theme), theme);
}

/** States of the panels. */
export async function panelStates(page) {
    return page.evaluate(() => [...document.querySelectorAll("main .panel[data-state]")].map((one) => one.dataset.state));
}

/** Answers every request of data by a problem of the server. The session is left, so that the page itself is shown. */
export async function failAll(page) {
    await page.route(isData, (route) =>
        route.fulfill({ status: 500, contentType: "application/problem+json", body: '{"title":"A fault of the server","status":500,"detail":"the database is away"}' }),
    );
}

/** Lets every request of data end without an answer, as when the server is away. */
export async function cutOff(page) {
    await page.route(isData, (route) => route.abort("connectionrefused"));
}

/** Takes the items out of every list. */
export async function emptyAll(page) {
    await page.route(isData, async (route) => {
        if (new URL(route.request().url()).pathname === "/v1/stream") return route.continue();
        const response = await route.fetch();
        const text = await response.text();
        let body;
        try {
            body = JSON.parse(text);
        } catch {
            return route.fulfill({ response, body: text });
        }
        return route.fulfill({ response, json: withoutItems(body) });
    });
}

function withoutItems(body) {
    if (Array.isArray(body)) return [];
    return body !== null && typeof body === "object" && Array.isArray(body.items) ? { ...body, items: [], next: undefined } : body;
}

export function isData(url) {
    return url.pathname.startsWith("/v1/") && !url.pathname.startsWith("/v1/session");
}

/**
 * Lets a minute of the page's time go by while the server is away, and waits until a panel is old. False: the page asked for
 * nothing in that time, or has no panels, so that nothing could become old. The clock of the page has to be installed.
 */
export async function becomeOld(page) {
    const last = "/v1/last-of-the-test";
    let failures = 0;
    page.on("requestfailed", (request) => {
        const url = new URL(request.url());
        if (isData(url) && url.pathname !== "/v1/stream" && url.pathname !== last) failures++;
    });
    await page.clock.runFor(61_000);
    // Requests fail one after the other: once this one has, all that the page sent before have.
    const done = page.waitForEvent("requestfailed", (request) => new URL(request.url()).pathname === last);
    await page.evaluate((url) => void fetch(url).catch(() => undefined), last);
    await done;
    if (failures === 0 || (await panelStates(page)).length === 0) return false;
    await page.waitForSelector('main .panel[data-state="old"]');
    return true;
}
