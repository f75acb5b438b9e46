// From a change of an order to the frame that shows it. Engine and browser run on one machine, so they share a clock.

import { act, api } from "./support.mjs";

/** Lets an order that waits fail and start again, in turns. Gives for each change its time by the API and that of its frame, in ms. */
export async function changesInSight(page, id, badge, changes) {
    await page.waitForFunction(([badge]) => document.querySelector(badge)?.textContent === "wait", [badge]);
    await page.evaluate(watch, badge);
    const seen = [];
    for (let change = 0; change < changes; change++) {
        const [action, status] = change % 2 === 0 ? ["requests/answer/answer", "fail"] : ["restart", "wait"];
        const shown = page.evaluate((word) => globalThis.seen(word), status);
        const [frame] = await Promise.all([shown, act(id, action)]);
        const { updatedAt } = (await api("GET", `/v1/orders?ids=${id}`)).items[0];
        seen.push([Date.parse(updatedAt), frame]);
    }
    return seen;
}

/** The times from each change to its sight, in ms, in order. They count from the start of the transaction that made the change. */
export async function timesToSight(page, id, badge, changes) {
    const seen = await changesInSight(page, id, badge, changes);
    return seen.map(([changed, frame]) => frame - changed).sort((one, other) => one - other);
}

/** Value at a share of sorted ones. */
export function quantile(sorted, share) {
    return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)];
}

/** Notes when a badge shows a word: the time of the frame in which it is drawn. */
function watch(badge) {
    globalThis.seen = (word) =>
        new Promise((resolve, reject) => {
            setTimeout(() => reject(new Error(`${badge} never showed ${word}`)), 60_000);
            const shows = () => document.querySelector(badge)?.textContent === word;
            const drawn = () => requestAnimationFrame(() => setTimeout(() => resolve(Date.now())));
            if (shows()) return drawn();
            const observer = new MutationObserver(() => {
                if (!shows()) return;
                observer.disconnect();
                drawn();
            });
            observer.observe(document.querySelector("main"), { subtree: true, childList: true, characterData: true });
        });
}
