// Who may use the API: tokens of programs, sessions of people, and why somebody has a role.

import { session } from "../app/session";
import { chosenTab, Tabs, type Tab } from "../parts/tabs";
import { text } from "../text/access";
import { Explain } from "./access/explain";
import { Sessions } from "./access/sessions";
import { Tokens } from "./access/tokens";

const TAB_KEYS = ["tokens", "sessions", "explain"] as const;
const PARTS = { tokens: Tokens, sessions: Sessions, explain: Explain };

export default function Access() {
    const tabs: Tab[] = TAB_KEYS.map((key) => ({ key, name: text(key) }));
    const Part = PARTS[chosenTab(tabs) as (typeof TAB_KEYS)[number]];
    return <Part lead={<Mode />} tabs={<Tabs tabs={tabs} label={text("parts")} />} />;
}

const KNOWN_MODES = ["public", "token", "ldap", "oidc"] as const;

/** The present mode in words, and who asks. */
function Mode() {
    const who = session.value;
    if (!who) return null;
    const known = KNOWN_MODES.find((mode) => mode === who.mode);
    const role = who.role ?? "";
    return (
        <>
            {text("mode", { mode: who.mode })} <span class={known === "public" ? "warn-text" : ""}>{text(known ? `mode_${known}` : "mode_other")}</span>{" "}
            {role && (who.name ? text("you", { name: who.name, role }) : text("you_unnamed", { role }))}
        </>
    );
}
