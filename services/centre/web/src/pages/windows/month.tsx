// A month as a table: weeks by days, with the windows that are open on each.

import { now } from "../../app/clock";
import { toWith } from "../../app/router";
import { zone } from "../../app/time";
import { dayAt, dayText, offsetText } from "../../app/zoned";
import { windows as text } from "../../text/windows";
import { partsOf, weekNumber, type ClockChange, type Day, type Part } from "./calendar";
import type { Occurrence } from "./occurrences";
import { addressOf, dayName, targetOf, weekdayName } from "./parts";
import { clockText, partText, spanText } from "./words";

/** Windows of a day that a cell shows; the others are in the view of its week. */
const SHOWN = 3;

export function MonthView({ weeks, all, caption }: { weeks: readonly Day[][]; all: readonly Occurrence[]; caption: string }) {
    return (
        <div class="table-frame" role="group" aria-label={caption} tabIndex={0}>
            <table class="calendar month">
                <caption class="hidden-text">{caption}</caption>
                <thead>
                    <tr>
                        <th scope="col">{text("weeks")}</th>
                        {[0, 1, 2, 3, 4, 5, 6].map((index) => (
                            <th key={index} scope="col">
                                {weekdayName(index, "short")}
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {weeks.map((days) => (
                        <Week key={days[0]?.day} days={days} all={all} />
                    ))}
                </tbody>
            </table>
        </div>
    );
}

function Week({ days, all }: { days: readonly Day[]; all: readonly Occurrence[] }) {
    const monday = days[0]?.day ?? 0;
    return (
        <tr>
            <th scope="row">
                <a href={toWith("windows", { view: "week", at: dayText(monday) })}>{weekNumber(monday)}</a>
            </th>
            {days.map((day) => (
                <DayCell key={day.day} day={day} parts={partsOf(day, all)} />
            ))}
        </tr>
    );
}

function DayCell({ day, parts }: { day: Day; parts: readonly Part[] }) {
    const today = dayAt(zone.value, now.value) === day.day;
    const shown = parts.slice(0, parts.length > SHOWN + 1 ? SHOWN : SHOWN + 1);
    const hidden = parts.length - shown.length;
    return (
        <td class={day.inside ? "" : "outside"} aria-current={today ? "date" : undefined}>
            <time class="day-number" dateTime={dayText(day.day)} title={dayName(day.day)}>
                {new Date(day.day * 86_400_000).getUTCDate()}
            </time>
            {day.change && <ChangeNote change={day.change} />}
            {shown.length > 0 && (
                <ul>
                    {shown.map((part) => (
                        <li key={`${part.occurrence.window.window} ${part.occurrence.from}`}>
                            <Entry part={part} />
                        </li>
                    ))}
                    {hidden > 0 && (
                        <li>
                            <a href={toWith("windows", { view: "week", at: dayText(day.day) })}>{text("more", { n: hidden })}</a>
                        </li>
                    )}
                </ul>
            )}
        </td>
    );
}

/** A change of the clocks on a day, with both offsets. */
export function ChangeNote({ change }: { change: ClockChange }) {
    const values = { time: clockText(zone.value, change.at), before: offsetText(change.before), after: offsetText(change.after) };
    return <span class="clock-change">{text("change", values)}</span>;
}

/** A window within a day, as the way to its facts. */
export function Entry({ part, whole }: { part: Part; whole?: boolean }) {
    const { window, from, until, off } = part.occurrence;
    const kind = window.system ? "of-system" : "of-flow";
    const times = whole ? partText(zone.value, part) : part.begun ? "…" : clockText(zone.value, from);
    return (
        <a class={`entry ${kind}${off ? " off" : ""}`} href={addressOf(window.window)} title={spanText(zone.value, from, until)}>
            <span class="number">{times}</span> {whole ? <span class="hidden-text">{targetOf(window)}</span> : targetOf(window)}
            {off && <span class="entry-note"> {text(from > now.value ? "off" : "ended_early")}</span>}
        </a>
    );
}
