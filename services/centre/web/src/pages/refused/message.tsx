// One refused message: why it was refused, where it had been sent, its properties, and its body byte for byte.

import type { ComponentChildren } from "preact";
import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { may } from "../../app/session";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { Choice, chosenOf } from "../../parts/choice";
import { Facts } from "../../parts/facts";
import { Json } from "../../parts/json";
import { Time } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { Said } from "../../parts/said";
import { common } from "../../text/common";
import { text } from "../../text/refused";
import { bytesOf, dump, isWhole } from "./bytes";
import { reasonParts } from "./filter";

type Message = Schemas["RefusedView"];
const VIEWS = ["text", "bytes"] as const;

interface Props {
    resource: Shown<Message>;
    onWanted: (what: "replay" | "drop", message: Message) => void;
}

export function MessagePanel({ resource, onWanted }: Props) {
    if (!may("operator"))
        return (
            <section class="panel">
                <p class="note">{common("needs_operator")}</p>
            </section>
        );
    if (resource.state === "failed" && resource.known.value.failure?.status === 404)
        return (
            <section class="panel">
                <p class="note">{text("message_gone")}</p>
            </section>
        );
    return (
        <Panel title={text("message")} resource={resource} tools={<Decisions message={resource.data} onWanted={onWanted} />}>
            {(message) => (
                <>
                    <Reason message={message} />
                    <Facts facts={factsOf(message)} />
                    <Body message={message} />
                    <Properties properties={message.properties} />
                </>
            )}
        </Panel>
    );
}

function Decisions({ message, onWanted }: { message: Message | undefined; onWanted: Props["onWanted"] }) {
    if (!message) return null;
    return (
        <>
            <Button small kind="primary" needs="operator" onClick={() => onWanted("replay", message)}>
                {text("replay")}
            </Button>
            <Button small needs="operator" onClick={() => onWanted("drop", message)}>
                {text("drop")}
            </Button>
        </>
    );
}

function Reason({ message }: { message: Message }) {
    const { type, words } = reasonParts(message.reason);
    return (
        <p class="refusal">
            <Badge word={type} tone="warn" /> <Said text={words} />
        </p>
    );
}

function factsOf(message: Message): [string, ComponentChildren][] {
    return [
        [text("id"), <code key="id">{message.id}</code>],
        [text("exchange"), <code key="exchange">{message.exchange}</code>],
        [text("key"), <code key="key">{message.key}</code>],
        [text("refused_at"), <Time key="at" at={message.refusedAt} />],
        [text("taken_at"), <Time key="taken" at={message.takenAt} />],
        [text("bytes_name"), text("bytes", { n: message.bytes })],
        [text("answered"), message.answered ? text("answered_hint") : null],
    ];
}

function Body({ message }: { message: Message }) {
    const usual = message.encoding === "text" ? "text" : "bytes";
    const view = usual === "bytes" ? "bytes" : chosenOf("view", VIEWS, usual);
    return (
        <>
            <div class="row spread spaced">
                <h3>{text("body")}</h3>
                {usual === "text" && (
                    <Choice
                        label={text("view")}
                        name="view"
                        chosen={view}
                        usual={usual}
                        options={[
                            { value: "text", text: text("as_text") },
                            { value: "bytes", text: text("as_bytes") },
                        ]}
                    />
                )}
            </div>
            {!isWhole(message) && <p class="note">{cutText(message)}</p>}
            <div class={view === "bytes" ? "body-of-message dump" : "body-of-message"}>
                <Json value={view === "bytes" ? dump(bytesOf(message)) : message.body} />
            </div>
        </>
    );
}

/** What is not seen of a long body, and what follows from it. */
export function cutText(message: Message): string {
    return text("body_cut", { bytes: text("bytes", { n: message.bytes }), shown: text("bytes", { n: bytesOf(message).length }) });
}

function Properties({ properties }: { properties: unknown }) {
    const given = Object.entries((properties ?? {}) as Record<string, unknown>);
    return (
        <>
            <h3 class="spaced">{text("properties")}</h3>
            {given.length === 0 ? (
                <p class="faint">{text("properties_none")}</p>
            ) : (
                <Facts facts={given.map(([name, value]) => [name, <Value key={name} value={value} />] as const)} />
            )}
        </>
    );
}

function Value({ value }: { value: unknown }) {
    const shown = typeof value === "string" ? value : JSON.stringify(value);
    return <code>{shown}</code>;
}
