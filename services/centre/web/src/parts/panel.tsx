// A part of a page that shows data, in exactly one of four states: fresh, old since a time, failed, empty.

import type { ComponentChildren } from "preact";
import type { Shown } from "../api/resource";
import { now } from "../app/clock";
import { shortTime } from "../app/time";
import { common } from "../text/common";
import { reasonText } from "../text/reason";
import { Button } from "./button";

interface Props<T> {
    title?: string;
    /** Heading's level: panels of a page have 2. */
    level?: 2 | 3;
    resource: Shown<T>;
    /** Whether there is nothing to show, and what to say then. */
    empty?: (data: T) => boolean;
    emptyText?: ComponentChildren;
    /** Buttons beside the title. */
    tools?: ComponentChildren;
    /** Without a frame of its own. */
    bare?: boolean;
    children: (data: T) => ComponentChildren;
}

export function Panel<T>({ title, level = 2, resource, empty, emptyText, tools, bare, children }: Props<T>) {
    const Heading = level === 2 ? "h2" : "h3";
    return (
        <section class={bare ? "panel bare" : "panel"} data-state={stateOf(resource, empty)} aria-label={title}>
            {(title || tools) && (
                <header class="panel-head">
                    {title && <Heading>{title}</Heading>}
                    {tools && <div class="tools">{tools}</div>}
                </header>
            )}
            <Content resource={resource} empty={empty} emptyText={emptyText}>
                {children}
            </Content>
        </section>
    );
}

function stateOf<T>(resource: Shown<T>, empty: ((data: T) => boolean) | undefined): string {
    const isEmpty = resource.state === "fresh" && resource.data !== undefined && empty?.(resource.data);
    return isEmpty ? "empty" : resource.state;
}

function Content<T>({ resource, empty, emptyText, children }: Pick<Props<T>, "resource" | "empty" | "emptyText" | "children">) {
    const { data, state } = resource;
    if (data === undefined) return state === "failed" ? <Failed resource={resource} /> : <Waiting />;
    return (
        <>
            {state === "old" && <OldNote resource={resource} />}
            {empty?.(data) ? state === "fresh" && <div class="nothing">{emptyText ?? common("empty")}</div> : children(data)}
        </>
    );
}

/** Grey bars where data will stand, so that nothing jumps when it comes. */
function Waiting() {
    return (
        <div class="waiting" role="status">
            <span class="hidden-text">{common("loading")}</span>
            <i />
            <i />
            <i />
        </div>
    );
}

function reasonOf<T>(resource: Shown<T>): string {
    const { failure } = resource.known.value;
    if (!failure) return common("old_slow");
    return reasonText(failure);
}

function Failed<T>({ resource }: { resource: Shown<T> }) {
    return (
        <div class="problem" role="alert">
            <p>
                <strong>{common("failed")}</strong> {reasonOf(resource)}
            </p>
            <Button small onClick={() => void resource.refresh()}>
                {common("retry")}
            </Button>
        </div>
    );
}

function OldNote<T>({ resource }: { resource: Shown<T> }) {
    const time = shortTime(resource.known.value.at ?? 0, now.value);
    return (
        <p class="old-note" role="status">
            {common("old_since", { time, reason: reasonOf(resource) })}
        </p>
    );
}
