// The login of an installation that asks for one: over the page, so that nothing is lost that was typed there.
// Needs an engine whose local administrator has the name and the password of `CENTRE_NAME` and `CENTRE_PASSWORD`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { axe, isData, settled, withPage } from "./support.mjs";

const { CENTRE_NAME = "root", CENTRE_PASSWORD = "" } = process.env;

async function logIn(page, password = CENTRE_PASSWORD) {
    const dialog = page.getByRole("dialog", { name: "Log in" });
    await dialog.waitFor();
    await dialog.getByLabel("Name", { exact: true }).fill(CENTRE_NAME);
    await dialog.getByLabel("Password").fill(password);
    await dialog.getByRole("button", { name: "Log in" }).click();
    return dialog;
}

test("ui_1_a_person_without_a_session_sees_the_login_and_no_data", async () => {
    await withPage({}, async (page) => {
        await page.goto("/orders");
        const dialog = await logIn(page, "wrong");
        await dialog.getByRole("alert").waitFor();
        assert.deepEqual(await axe(page), []);
        const good = page.answers.filter((one) => isData(new URL(one.url())) && one.ok());
        assert.deepEqual(good.map((one) => one.url()), []);
        await logIn(page);
        await dialog.waitFor({ state: "detached" });
        await settled(page);
        await page.getByRole("button", { name: "Account" }).click();
        await page.getByText("Role: admin").waitFor();
        const kept = await page.evaluate(() => JSON.stringify([localStorage, document.cookie]));
        assert.ok(!kept.includes("pgr_") && !kept.toLowerCase().includes("csrf") && !kept.includes(CENTRE_PASSWORD), kept);
        await page.getByRole("button", { name: "Log out" }).click();
        await dialog.waitFor();
    });
});

test("ui_1_a_session_that_ends_under_a_form_costs_nothing_that_was_typed", async () => {
    await withPage({}, async (page) => {
        await page.goto("/access");
        const dialog = await logIn(page);
        await dialog.waitFor({ state: "detached" });
        await settled(page);
        await page.getByRole("button", { name: "Make a token" }).click();
        const form = page.getByRole("dialog").last();
        const name = form.getByLabel("Name of the program");
        await name.fill("a program that was typed once");
        await page.context().clearCookies();
        await form.locator('button[type="submit"]').click();
        await logIn(page);
        await page.getByText(/pgr_[A-Za-z0-9]{6}/).first().waitFor();
        await page.getByText("a program that was typed once").first().waitFor();
    });
});
