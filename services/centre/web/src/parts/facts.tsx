import { Fragment, type ComponentChildren } from "preact";

/** Names with their values, one pair a line. What has no value is left out. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }) {
    const shown = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
    return (
        <dl class="facts">
            {shown.map(([name, value]) => (
                <Fragment key={name}>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                </Fragment>
            ))}
        </dl>
    );
}

/** A figure with its name, which leads to the list behind it. */
export function Figure({ name, value, href, note, tone }: { name: string; value: ComponentChildren; href?: string; note?: ComponentChildren; tone?: "bad" | "warn" }) {
    const content = (
        <>
            <span class="figure-name">{name}</span>
            <span class={`figure-value ${tone ?? ""}`}>{value}</span>
            {note && <span class="figure-note">{note}</span>}
        </>
    );
    return href ? (
        <a class="figure" href={href}>
            {content}
        </a>
    ) : (
        <div class="figure">{content}</div>
    );
}
