// The page of schedules (ORD-39): one is edited as a whole, with the times that it would have; what is typed outlives a save that fails.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { api, axe, data, LANGUAGES, open, RUN, THEMES, withPage } from "./support.mjs";

const NAME = `${RUN}-nightly`;
const at = `/v1/schedules/${NAME}`;

before(async () => {
    const { rest } = await data();
    const order = { scenario: rest, priority: "low", params: { day: "${schedule.date}" } };
    const exceptions = ["12-31", { from: "2040-05-01T00:00:00Z", until: "2040-05-10T00:00:00Z" }];
    const rule = { cron: "0 3 * * *", zone: "Europe/Berlin", until: "2050-01-01T00:00:30Z", exceptions, catchUp: { policy: "all", within: "2h" } };
    await api("PUT", at, { ...rule, overlap: "queue", note: "by night", order });
});
after(() => api("DELETE", at));

/** Opens the form of the schedule. */
async function edit(page) {
    await open(page, `/schedules?schedule=${NAME}`);
    await page.getByRole("button", { name: "Edit…" }).click();
    const dialog = page.getByRole("dialog", { name: `Edit schedule ${NAME}` });
    await dialog.getByText("So far this is what is stored.").waitFor();
    return dialog;
}

test("ord_39_a_schedule_is_edited_and_keeps_what_nobody_touched", async () => {
    const before = await api("GET", at);
    await withPage({}, async (page) => {
        const dialog = await edit(page);
        assert.ok(await dialog.getByRole("button", { name: "Save" }).isDisabled(), "nothing is changed yet");
        await dialog.getByLabel("Cron expression").fill("30 4 1 1 *");
        const times = dialog.locator(".preview time");
        await times.filter({ hasText: ":30" }).nth(4).waitFor();
        assert.equal(await times.count(), 5, "the next five times are shown before it is saved");
        assert.equal((await api("GET", at)).cron, "0 3 * * *", "and nothing is saved by that");
        await dialog.getByLabel("Note").fill("once a year");
        await dialog.getByLabel("Reason").fill("a test");
        await dialog.getByRole("button", { name: "Save" }).click();
        await page.getByText(`Schedule ${NAME} is changed.`).waitFor();
        assert.deepEqual(page.faults, []);
    });
    const after = await api("GET", at);
    assert.deepEqual([after.cron, after.note], ["30 4 1 1 *", "once a year"]);
    for (const field of ["zone", "until", "exceptions", "catchUp", "overlap", "order", "paused"]) assert.deepEqual(after[field], before[field], field);
});

test("ord_39_what_is_typed_outlives_a_save_that_fails_and_a_change_by_somebody_else", async () => {
    await withPage({}, async (page) => {
        const dialog = await edit(page);
        const note = dialog.getByLabel("Note");
        const save = dialog.getByRole("button", { name: "Save" });
        await note.fill("typed for long");
        let failing = true;
        await page.route(`**${at}`, (route) => (failing && route.request().method() === "PUT" ? route.abort("connectionrefused") : route.continue()));
        await save.click();
        await dialog.getByRole("alert").getByText("The server does not answer.").waitFor();
        assert.equal(await note.inputValue(), "typed for long");
        failing = false;

        // Somebody else is quicker: the save is refused, and the reader decides.
        const stored = await api("GET", at);
        await api("PATCH", at, { note: "quicker" });
        await save.click();
        await dialog.getByRole("button", { name: "Keep what I typed" }).waitFor();
        assert.equal(await note.inputValue(), "typed for long");
        assert.equal((await api("GET", at)).note, "quicker", "nothing is overwritten unseen");
        await dialog.getByRole("button", { name: "Keep what I typed" }).click();
        await save.click();
        await page.getByText(`Schedule ${NAME} is changed.`).waitFor();
        const saved = await api("GET", at);
        assert.deepEqual([saved.note, saved.cron], ["typed for long", stored.cron]);
    });
    await withPage({}, async (page) => {
        const dialog = await edit(page);
        await dialog.getByLabel("Note").fill("given up");
        await api("PATCH", at, { note: "newer" });
        await dialog.getByRole("button", { name: "Show the new version" }).click();
        assert.equal(await dialog.getByLabel("Note").inputValue(), "newer");
    });
});

test("ord_39_the_form_of_a_schedule_is_open_to_readers_in_any_theme_and_language", async () => {
    for (const theme of THEMES) {
        for (const language of LANGUAGES) {
            for (const width of [1280, 390]) {
                await withPage({ theme, language, width }, async (page) => {
                    await open(page, `/schedules?schedule=${NAME}&edit=true`);
                    await page.locator("dialog .preview li").first().waitFor();
                    assert.deepEqual(await axe(page), [], `${theme} ${language} ${width}`);
                    assert.deepEqual(page.faults, []);
                });
            }
        }
    }
});
