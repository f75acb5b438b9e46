// The head of a page: its title, its tools, and the request that it made, to be repeated elsewhere.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ApiRequest } from "../api/client";
import { asCommand, asCurl } from "../api/command";
import { announce } from "../app/announce";
import { path } from "../app/router";
import { common } from "../text/common";
import { shell } from "../text/shell";
import { CopyButton } from "./copy";
import { Icon } from "./icon";
import { Popover } from "./popover";

interface Props {
    title: string;
    /** What stands under the title. */
    lead?: ComponentChildren;
    tools?: ComponentChildren;
    request?: ApiRequest;
    /** Words behind `pagurus` that ask for the same. */
    command?: readonly (string | undefined)[];
    children: ComponentChildren;
}

export function Page({ title, lead, tools, request, command, children }: Props) {
    const heading = useRef<HTMLHeadingElement>(null);
    const at = path.value;
    useEffect(() => {
        document.title = `${title} · Pagurus`;
    }, [title]);
    useEffect(() => {
        // A page that was come to by a link has the focus at its title, and readers say so.
        if (heading.current && document.activeElement === document.body) heading.current.focus({ preventScroll: true });
        announce(shell("page_loaded", { page: title }));
    }, [at]);
    return (
        <>
            <header class="page-head">
                <div class="page-title">
                    <h1 tabIndex={-1} ref={heading}>
                        {title}
                    </h1>
                    {lead && <div class="lead">{lead}</div>}
                </div>
                <div class="tools">
                    {tools}
                    {request && <RequestButton request={request} command={command} />}
                </div>
            </header>
            {children}
        </>
    );
}

function RequestButton({ request, command }: { request: ApiRequest; command?: readonly (string | undefined)[] | undefined }) {
    return (
        <Popover label={common("as_request")} button={<Icon name="code" />}>
            <p class="faint">{common("request_hint")}</p>
            <CopyLine name={common("as_curl")} text={asCurl(request, window.location.origin)} />
            {command && <CopyLine name={common("as_command")} text={asCommand(command)} />}
        </Popover>
    );
}

/** A line of text with a button that copies it. */
export function CopyLine({ name, text }: { name: string; text: string }) {
    return (
        <div class="copy-line">
            <span class="copy-name">{name}</span>
            {/* A long text scrolls in its place, by keyboard, too. */}
            <code tabIndex={0}>{text}</code>
            <CopyButton text={text} label={`${common("copy")}: ${name}`} />
        </div>
    );
}
