// A week as a table: a row for each window, and on each day a bar over its 23, 24 or 25 hours.

import { now } from "../../app/clock";
import { zone } from "../../app/time";
import { dayAt } from "../../app/zoned";
import { windows as text } from "../../text/windows";
import { partsOf, type Day, type Part } from "./calendar";
import type { Occurrence, Window } from "./occurrences";
import { ChangeNote, Entry } from "./month";
import { dayName, Target } from "./parts";

const HOUR = 3_600_000;

export function WeekView({ days, all, caption }: { days: readonly Day[]; all: readonly Occurrence[]; caption: string }) {
    const rows = new Map<number, { window: Window; of: Occurrence[] }>();
    for (const one of all) {
        const row = rows.get(one.window.window) ?? { window: one.window, of: [] };
        row.of.push(one);
        rows.set(one.window.window, row);
    }
    return (
        <div class="table-frame" role="region" aria-label={caption} tabIndex={0}>
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
                    {rows.size === 0 && (
                        <tr>
                            <td colSpan={8} class="nothing">
                                {text("none_week")}
                            </td>
                        </tr>
                    )}
                    {[...rows.values()].map(({ window, of }) => (
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
            <DayBar day={day} parts={parts} />
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
    const ticks = [6, 12, 18].map((hour) => (hour / 24) * hours);
    return (
        <svg class="day-bar" viewBox={`0 0 ${hours} 4`} preserveAspectRatio="none" aria-hidden="true">
            <rect class="ground" x="0" y="0" width={hours} height="4" />
            {ticks.map((hour) => (
                <line key={hour} class="tick" x1={hour} x2={hour} y1="0" y2="4" />
            ))}
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
