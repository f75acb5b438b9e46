// The frame around every page: navigation at the side, choices on top, the page in between.

import { effect } from "@preact/signals";
import { language, LANGUAGES, speak, type Language } from "../text";
import { shell } from "../text/shell";
import { Icon } from "../parts/icon";
import { Popover } from "../parts/popover";
import { Select } from "../parts/field";
import { Button } from "../parts/button";
import { announcement } from "./announce";
import { now } from "./clock";
import { Login } from "./login";
import { CurrentPage } from "./current";
import { isFor, NAVIGATION, type NavigationEntry } from "./pages";
import { Palette, paletteOpen } from "./palette";
import { path } from "./router";
import { logOut, session } from "./session";
import { stored } from "./stored";
import { offsetAt, zone, zoneChoice } from "./time";

const THEMES = ["auto", "light", "dark"] as const;
const theme = stored<(typeof THEMES)[number]>("theme", THEMES, "auto");

effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
    document.documentElement.lang = language.value;
});

export function Frame() {
    return (
        <>
            <a class="skip" href="#content" onClick={skip}>
                {shell("skip")}
            </a>
            <div class="frame">
                <Side />
                <div class="body">
                    <Top />
                    <main id="content" tabIndex={-1}>
                        <CurrentPage />
                    </main>
                </div>
            </div>
            <Palette />
            <Login />
            <div class="hidden-text" aria-live="polite">
                {announcement.value}
            </div>
        </>
    );
}

function skip(event: Event) {
    event.preventDefault();
    document.getElementById("content")?.focus();
}

function Side() {
    return (
        <aside class="side">
            <a class="brand" href="/">
                <svg viewBox="0 0 32 32" aria-hidden="true">
                    <rect width="32" height="32" rx="8" />
                    <path d="M22.5 21.5a7.6 7.6 0 1 1 1.6-8.3 5 5 0 1 1-6.3 5.6 2.6 2.6 0 0 1 3.4-2.7" />
                </svg>
                {shell("product")}
            </a>
            <Navigation />
            <References />
        </aside>
    );
}

/** Pages beside the control centre that the engine serves. */
function References() {
    return (
        <p class="side-foot">
            <a href="/docs/guide/">{shell("documentation")}</a>
            <a href="/docs">{shell("api")}</a>
        </p>
    );
}

function Navigation() {
    return (
        <nav class="navigation" aria-label={shell("menu")}>
            {NAVIGATION.map(({ group, entries }) => (
                <div key={group}>
                    {group && <h2>{shell(group)}</h2>}
                    <ul>
                        {entries.filter(isFor).map((entry) => (
                            <li key={entry.page}>
                                <NavigationLink entry={entry} />
                            </li>
                        ))}
                    </ul>
                </div>
            ))}
        </nav>
    );
}

function NavigationLink({ entry }: { entry: NavigationEntry }) {
    const first = path.value.split("/")[1] ?? "";
    const current = first === entry.page || (entry.page === "flows" && first === "systems");
    return (
        <a href={`/${entry.page}`} aria-current={current ? "page" : undefined}>
            <Icon name={entry.icon} />
            {shell(entry.name)}
        </a>
    );
}

function Top() {
    return (
        <header class="top">
            <div class="only-narrow">
                <Popover label={shell("menu")} button={<Icon name="menu" />}>
                    <Navigation />
                    <References />
                </Popover>
            </div>
            <button type="button" class="go" onClick={() => (paletteOpen.value = true)}>
                <Icon name="search" />
                <span>{shell("go_placeholder")}</span>
                <kbd>{shell("palette_key")}</kbd>
            </button>
            <Zone />
            <Choices />
            <Person />
        </header>
    );
}

function Zone() {
    const text = shell("zone", { zone: zone.value, offset: offsetAt(now.value) });
    const button = (
        <>
            <span class="zone">{text}</span>
            <span class="only-narrow">
                <Icon name="clock" />
            </span>
        </>
    );
    return (
        <Popover wide label={shell("zone_title")} button={button}>
            <Select
                label={shell("zone_title")}
                value={zoneChoice.value}
                options={[
                    { value: "local", text: shell("zone_local") },
                    { value: "utc", text: shell("zone_utc") },
                ]}
                onChange={(value) => (zoneChoice.value = value)}
            />
            <p class="faint">{text}</p>
        </Popover>
    );
}

const NAMES: Record<Language, string> = { en: "English", ru: "Русский" };

function Choices() {
    return (
        <Popover label={`${shell("theme")}, ${shell("language")}`} button={<Icon name="sun" />}>
            <Select
                label={shell("theme")}
                value={theme.value}
                options={THEMES.map((value) => ({ value, text: shell(`theme_${value}`) }))}
                onChange={(value) => (theme.value = value)}
            />
            <Select
                label={shell("language")}
                value={language.value}
                options={LANGUAGES.map((value) => ({ value, text: NAMES[value] }))}
                onChange={(value) => void speak(value)}
            />
        </Popover>
    );
}

function Person() {
    const who = session.value;
    if (!who) return null;
    return (
        <Popover label={shell("account")} button={<Icon name="person" />}>
            {who.name && <p class="strong">{who.name}</p>}
            {who.role && <p>{shell("role", { role: who.role })}</p>}
            {who.tenants && <p>{who.tenants.length ? shell("tenants", { tenants: who.tenants.join(", ") }) : shell("no_tenant")}</p>}
            {who.payloadsHidden && <p>{shell("payloads_hidden")}</p>}
            {who.mode === "public" && <p class="warn-text">{shell("public_mode")}</p>}
            {who.csrfToken && <Button onClick={() => void logOut()}>{shell("log_out")}</Button>}
        </Popover>
    );
}
