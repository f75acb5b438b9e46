// Maintenance windows: a calendar of a month or a week, the list, and the way to set one ahead.

import { useMemo, useState } from "preact/hooks";
import { read, type Schemas } from "../api/client";
import { useResource, type Shown } from "../api/resource";
import { now } from "../app/clock";
import { query, setQuery } from "../app/router";
import { zone } from "../app/time";
import { dayAt, dayOfText, dayText } from "../app/zoned";
import { Button } from "../parts/button";
import { Page } from "../parts/page";
import { Panel } from "../parts/panel";
import { windows as text } from "../text/windows";
import { OutcomeNote, type Outcome } from "./flows/outcome";
import { layout, moved, weekNumber, type View } from "./windows/calendar";
import { CreateDialog } from "./windows/create";
import { WindowDetails } from "./windows/details";
import { WindowList } from "./windows/list";
import { MonthView } from "./windows/month";
import { disagreeing, occurrences } from "./windows/occurrences";
import { dayName, monthName } from "./windows/parts";
import { WeekView } from "./windows/week";
import "../style/calendar.css";

/** Windows of a page: with the calendar, more would be too many elements. */
const LIMIT = 80;

export default function Windows() {
    const ended = query.value.get("ended");
    const request = read("/v1/windows", {}, { ended, cursor: query.value.get("cursor"), limit: LIMIT });
    const windows = useResource<Schemas["PageOfWindowView"]>(request);
    const [outcome, setOutcome] = useState<Outcome>();
    const close = () => setQuery({ window: undefined, new: undefined, target: undefined }, true);
    const done = (one: Outcome) => {
        close();
        setOutcome(one);
        void windows.refresh();
    };
    const shown = Number(query.value.get("window") ?? NaN);
    const tools = (
        <Button kind="primary" needs="operator" onClick={() => setQuery({ new: "flow" })}>
            {text("add")}
        </Button>
    );
    return (
        <Page title={text("title")} tools={tools} request={request} command={["windows", "list", ended ? "--ended" : ""]}>
            <OutcomeNote outcome={outcome} onClose={() => setOutcome(undefined)} onOutcome={done} />
            <CalendarPanel windows={windows} />
            <WindowList windows={windows} />
            {query.value.has("new") && <CreateDialog onClose={close} onDone={done} />}
            {Number.isInteger(shown) && <WindowDetails key={shown} no={shown} onClose={close} onDone={done} />}
        </Page>
    );
}

function CalendarPanel({ windows }: { windows: Shown<Schemas["PageOfWindowView"]> }) {
    const view: View = query.value.get("view") === "week" ? "week" : "month";
    const today = dayAt(zone.value, now.value);
    const day = dayOfText(query.value.get("at")) ?? today;
    const weeks = useMemo(() => layout(view, day, zone.value), [view, day, zone.value]);
    const first = weeks[0]?.[0];
    const last = weeks.at(-1)?.at(-1);
    const title = view === "month" ? monthName(day) : weekTitle(first?.day ?? day);
    return (
        <Panel title={title} tools={<Ways view={view} day={day} />} resource={windows}>
            {(data) => {
                const all = first && last ? occurrences(data.items, first.from, last.until, now.value) : [];
                const apart = [...new Set(disagreeing(data.items).map((one) => one.calendar.zone ?? "UTC"))];
                return (
                    <>
                        {(data.next || query.value.has("cursor")) && <p class="note plain">{text("not_whole")}</p>}
                        {apart.length > 0 && <p class="note">{text("zones_differ", { zones: apart.join(", ") })}</p>}
                        {view === "month" ? <MonthView weeks={weeks} all={all} caption={`${text("calendar")}: ${title}`} /> : <WeekView days={weeks[0] ?? []} all={all} caption={text("window_caption")} />}
                    </>
                );
            }}
        </Panel>
    );
}

function weekTitle(monday: number): string {
    return text("week_of", { n: String(weekNumber(monday)), year: dayText(monday + 3).slice(0, 4), from: dayName(monday), until: dayName(monday + 6) });
}

function Ways({ view, day }: { view: View; day: number }) {
    const goTo = (one: number | undefined) => setQuery({ at: one === undefined ? undefined : dayText(one) });
    return (
        <>
            <Button small onClick={() => goTo(moved(view, day, -1))}>
                {text("range_previous")}
            </Button>
            <Button small onClick={() => goTo(undefined)}>
                {text("today")}
            </Button>
            <Button small onClick={() => goTo(moved(view, day, 1))}>
                {text("range_next")}
            </Button>
            <span role="group" aria-label={text("view")} class="row">
                {(["month", "week"] as const).map((one) => (
                    <Button key={one} small pressed={view === one} onClick={() => setQuery({ view: one === "month" ? undefined : one })}>
                        {text(one)}
                    </Button>
                ))}
            </span>
        </>
    );
}
