// Pictures of the pages for the documents, of a running engine: `PAGURUS_SERVER=… node pictures.mjs FOLDER`.

import { join } from "node:path";
import { api, browser, open, withPage } from "./support.mjs";

const folder = process.argv[2] ?? ".";

/** An order that has gone some way, so that there is something to see. */
async function anOrder() {
    for (const status of ["sleep", "wait", "success"]) {
        const { items } = await api("GET", `/v1/orders?status=${status}&limit=1`);
        if (items.length > 0) return items[0];
    }
    throw new Error("the engine has no order yet");
}

const { id, scenario } = await anOrder();
const PICTURES = [
    ["overview", "/", "light"],
    ["order", `/orders/${encodeURIComponent(id)}`, "dark"],
    ["workbench", `/workbench/${encodeURIComponent(scenario)}`, "light"],
];

for (const [name, address, theme] of PICTURES) {
    await withPage({ theme }, async (page) => {
        await open(page, address);
        // Charts and graphs come a moment after their panels.
        await page.waitForTimeout(2_000);
        await page.screenshot({ path: join(folder, `centre-${name}.png`) });
    });
}
await (await browser()).close();
