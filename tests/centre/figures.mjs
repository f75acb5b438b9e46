// What the pages cost, for the benchmark: `PAGURUS_SERVER=… node figures.mjs pages|watched|changes|scrolled` prints JSON.
// `CENTRE_LONG` names an order with a long history.

import { changesInSight } from "./changes.mjs";
import { browser, data, isData, open, register, ROUTES, settled, waitForStatus, withPage } from "./support.mjs";

/** Time for which an open page is watched, in seconds. */
const WATCHED = 20;
const CHANGES = 200;
/** Time for which a page is scrolled, in ms, and by how many pixels a frame. */
const SCROLLED = 3_000;
const SPEED = 60;

const long = process.env.CENTRE_LONG;
const TABS = ["data", "steps", "requests", "transitions", "events", "tasks", "log", "calls", "dependencies", "ledger"];
const LONG = [
    { pattern: "/orders/:id, 50 000 events", address: () => `/orders/${long}` },
    ...TABS.map((tab) => ({ pattern: `the same, ${tab}`, address: () => `/orders/${long}?tab=${tab}` })),
    { pattern: "/queues/:name, of 100 000", address: () => "/queues/queue-77" },
    { pattern: "/flows/:flow, where time went", address: (data) => `/flows/${data.flow}`, reveal: "summary" },
];
/** Pages that people leave open. */
const OPEN = ["/", "/orders", "/orders/:id", "/flows/:flow"];

const pathOf = (address) => address.replace(new URL(address).origin, "");
const isStream = (url) => url.startsWith("/v1/stream");

/** Each page: what it asks for, how long the answers are, and how many elements it has. */
async function pages() {
    const known = await data();
    const found = [];
    for (const { pattern, address, reveal } of [...ROUTES, ...(long ? LONG : [])]) {
        await withPage({}, async (page) => {
            await open(page, address(known));
            if (reveal) await page.locator(reveal).last().click();
            if (reveal) await settled(page);
            const asked = page.answers.filter((answer) => isData(new URL(answer.url())) && answer.request().method() === "GET");
            const answers = asked.map((answer) => [pathOf(answer.url()), answer]).filter(([url]) => !isStream(url));
            const sizes = await Promise.all(answers.map(async ([url, answer]) => [url, (await answer.body()).length]));
            const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
            found.push({ page: pattern, requests: Object.fromEntries(sizes), nodes });
        });
    }
    return found;
}

/** What open pages ask for in a time: how often for each address, and the streams that they hold. */
async function watched() {
    const known = await data();
    const found = [];
    for (const { pattern, address } of ROUTES.filter((route) => OPEN.includes(route.pattern))) {
        await withPage({}, async (page) => {
            await open(page, address(known));
            const streams = new Set();
            const requests = {};
            for (const answer of page.answers) if (isStream(pathOf(answer.url()))) streams.add(pathOf(answer.url()));
            page.on("request", (request) => {
                const url = pathOf(request.url());
                if (isStream(url)) streams.add(url);
                else if (isData(new URL(request.url()))) requests[url] = (requests[url] ?? 0) + 1;
            });
            await page.waitForTimeout(WATCHED * 1_000);
            found.push({ page: pattern, seconds: WATCHED, streams: [...streams], requests });
        });
    }
    return found;
}

/** Changes of an order, and the frames that show them on the order's page. */
async function changes() {
    const { ask } = await data();
    const id = await register(ask);
    await waitForStatus(id, "wait");
    return withPage({}, async (page) => {
        await open(page, `/orders/${id}`);
        return { order: id, changes: await changesInSight(page, id, "main .page-head .badge", CHANGES) };
    });
}

/** Frames a second while long pages are scrolled. */
async function scrolled() {
    const addresses = ["/orders", ...(long ? [`/orders/${long}`, `/orders/${long}?tab=events`] : [])];
    const found = [];
    for (const address of addresses) {
        await withPage({}, async (page) => {
            await open(page, address);
            await page.waitForTimeout(1_000);
            found.push({ page: address, frames: await page.evaluate(scroll, [SCROLLED, SPEED]) });
        });
    }
    return found;
}

function scroll([length, speed]) {
    return new Promise((resolve) => {
        const begun = performance.now();
        let frames = 0;
        let down = true;
        const step = () => {
            frames++;
            const before = scrollY;
            scrollBy(0, down ? speed : -speed);
            if (scrollY === before) down = !down;
            if (performance.now() - begun < length) requestAnimationFrame(step);
            else resolve((frames * 1_000) / (performance.now() - begun));
        };
        requestAnimationFrame(step);
    });
}

const work = { pages, watched, changes, scrolled }[process.argv[2]];
if (!work) throw new Error("figures.mjs takes pages, watched, changes or scrolled");
const found = await work();
console.log(JSON.stringify(found));
await (await browser()).close();
