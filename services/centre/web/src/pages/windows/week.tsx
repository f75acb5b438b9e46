// A week as a table: a row for each window, and on each day a bar over its 23, 24 or 25 hours.

import { now } from "../../app/clock";
import { query, setQuery } from "../../app/router";
import { zone } from "../../app/time";
import { DAY, dayAt, timeOf } from "../../app/zoned";
import { Button } from "../../parts/button";
import { common } from "../../text/common";
import { windows as text } from "../../text/windows";
import { partsOf, type Day, type Part } from "./calendar";
import type { Occurrence, Window } from "./occurrences";
import { ChangeNote, Entry } from "./month";
import { dayName, Target } from "./parts";

const HOUR = 3_600_000;
/** Windows that the table shows at a time. */
const ROWS = 15;

export function WeekView({ days, all, caption }: { days: readonly Day[]; all: readonly Occurrence[]; caption: string }) {
    const rows = new Map<number, Row>();
    for (const one of all) {
        const row = rows.get(one.window.window) ?? { window: one.window, of: [] };
        row.of.push(one);
        rows.set(one.window.window, row);
    }
    const first = Math.max(0, Math.min(Number(query.value.get("row") ?? 0) || 0, rows.size - 1));
    const shown = [...rows.values()].slice(first, first + ROWS);
    return (
        <>
            <WeekTable days={days} rows={shown} caption={caption} />
            <Further first={first} all={rows.size} />
        </>
    );
}

/** The way to the windows of a week that do not fit. */
function Further({ first, all }: { first: number; all: number }) {
    if (all <= ROWS) return null;
    return (
        <nav class="pager" aria-label={text("further")}>
            <span class="soft">{text("rows", { from: first + 1, until: Math.min(first + ROWS, all), n: all })}</span>
            {first > 0 && (
                <Button small onClick={() => setQuery({ row: undefined })}>
                    {common("page_first")}
                </Button>
            )}
            {first + ROWS < all && (
                <Button small onClick={() => setQuery({ row: first + ROWS })}>
                    {common("page_next")}
                </Button>
            )}
        </nav>
    );
}

interface Row {
    readonly window: Window;
    readonly of: Occurrence[];
}

function WeekTable({ days, rows, caption }: { days: readonly Day[]; rows: readonly Row[]; caption: string }) {
    return (
        <div class="table-frame" role="group" aria-label={caption} tabIndex={0}>
            <table class="calendar week">
                <caption class="hidden-text">{caption}</caption>
                <thead>
                    <tr>
                        <th scope="col">{text("window")}</th>
                        {days.map((day) => (
                            <th key={day.day} scope="col" aria-current={isToday(day) ? "date" : undefined}>
                                {dayName(day.day)}
                                {day.change && <ChangeNote change={day.change} />}
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {rows.length === 0 && (
                        <tr>
                            <td colSpan={8} class="nothing">
                                {text("none_week")}
                            </td>
                        </tr>
                    )}
                    {rows.map(({ window, of }) => (
                        <tr key={window.window}>
                            <th scope="row">
                                <Target window={window} />
                            </th>
                            {days.map((day) => (
                                <WeekCell key={day.day} day={day} parts={partsOf(day, of)} />
                            ))}
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

function isToday(day: Day): boolean {
    return dayAt(zone.value, now.value) === day.day;
}

function WeekCell({ day, parts }: { day: Day; parts: readonly Part[] }) {
    return (
        <td aria-current={isToday(day) ? "date" : undefined}>
            {parts.length > 0 && <DayBar day={day} parts={parts} />}
            {parts.map((part) => (
                <Entry key={part.occurrence.from} part={part} whole />
            ))}
        </td>
    );
}

/** A day from its first hour to its last one; its text stands under it. */
function DayBar({ day, parts }: { day: Day; parts: readonly Part[] }) {
    const hours = (day.until - day.from) / HOUR;
    const present = (now.value - day.from) / HOUR;
    const ticks = [6, 12, 18].map((hour) => (timeOf(zone.value, day.day * DAY + hour * HOUR) - day.from) / HOUR);
    return (
        <svg class="day-bar" viewBox={`0 0 ${hours} 4`} preserveAspectRatio="none" aria-hidden="true">
            <rect class="ground" x="0" y="0" width={hours} height="4" />
            <path class="tick" d={ticks.map((hour) => `M${hour} 0V4`).join("")} />
            {parts.map(({ occurrence, start, end }) => (
                <rect
                    key={occurrence.from}
                    class={`bar ${occurrence.window.system ? "of-system" : "of-flow"}${occurrence.off ? " off" : ""}`}
                    x={start * hours}
                    y="0"
                    width={Math.max((end - start) * hours, hours / 200)}
                    height="4"
                />
            ))}
            {present >= 0 && present < hours && <line class="present" x1={present} x2={present} y1="0" y2="4" />}
        </svg>
    );
}
