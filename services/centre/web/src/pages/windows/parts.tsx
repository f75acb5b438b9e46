// What the views of the calendar and the list have in common: how a window and its rule are named.

import { now } from "../../app/clock";
import { toWith, to } from "../../app/router";
import { language } from "../../text";
import { windows as text } from "../../text/windows";
import { Badge } from "../../parts/badge";
import { hrefWith } from "../../parts/choice";
import { DAY } from "../../app/zoned";
import { WEEKDAYS, type Rule, type Window } from "./occurrences";

/** Keyword of the flows, or name of the system, that a window is about. */
export function targetOf(window: Window): string {
    return window.flow ?? window.system ?? "";
}

/** The same as a link to what it is about. */
export function Target({ window }: { window: Window }) {
    const href = window.system ? to("systems", window.system) : toWith("flows", { contains: window.flow });
    return (
        <>
            <Badge word={window.system ? "system" : "flow"} tone="plain" /> <a href={href}>{targetOf(window)}</a>
        </>
    );
}

/** Name of a day of the week. */
export function weekdayName(index: number, width: "long" | "short"): string {
    // Any Monday will do: 5 January 1970.
    return new Intl.DateTimeFormat(language.value, { weekday: width, timeZone: "UTC" }).format((4 + index) * DAY);
}

/** A day as people write it, such as `Thu, 26 Nov`. */
export function dayName(day: number): string {
    return new Intl.DateTimeFormat(language.value, { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" }).format(day * DAY);
}

/** Name of a month with its year. */
export function monthName(day: number): string {
    const name = new Intl.DateTimeFormat(language.value, { month: "long", year: "numeric", timeZone: "UTC" }).format(day * DAY);
    return name.charAt(0).toLocaleUpperCase(language.value) + name.slice(1);
}

/** A calendar in a sentence. Days of a month are written as the engine writes them. */
export function ruleText(rule: Rule): string {
    const { at = "", zone, for: length } = rule;
    const values = { at: at ?? "", zone: zone ?? "UTC", length };
    if (rule.every === "day") return text("rule_day", values);
    if (rule.every === "month") return text("rule_month", { ...values, days: (rule.on ?? []).join(", ") });
    if (rule.every === "week") return text("rule_week", { ...values, days: weekdaysOf(rule).join(", ") });
    return text("rule_once", values);
}

function weekdaysOf(rule: Rule): string[] {
    const on = (rule.on ?? []).map((word) => word.trim().toLowerCase());
    return WEEKDAYS.flatMap((day, index) => (on.includes(day) ? [weekdayName(index, "short")] : []));
}

/** What a window is now: open, to come, over or removed. */
export function WindowState({ window, fresh }: { window: Window; fresh: boolean }) {
    if (window.removedAt) return <Badge word={text("removed")} tone="plain" />;
    if (window.open && Date.parse(window.open.until) > now.value) return <Badge word={text("open_now")} tone={fresh ? "warn" : "plain"} />;
    return <Badge word={text(window.next ? "coming" : "over")} tone="plain" />;
}

/** Address of the page with the facts of a window over it; the rest of the address stays. */
export function addressOf(window: number): string {
    return hrefWith({ window });
}

