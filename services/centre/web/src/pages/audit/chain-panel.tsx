import { useEffect, useRef, useState } from "preact/hooks";
import { read } from "../../api/client";
import { useResource } from "../../api/resource";
import { now } from "../../app/clock";
import { duration, number, shortTime } from "../../app/time";
import { Button } from "../../parts/button";
import { CopyButton } from "../../parts/copy";
import { Facts } from "../../parts/facts";
import { Field } from "../../parts/field";
import { Time } from "../../parts/moment";
import { CopyLine } from "../../parts/page";
import { Panel } from "../../parts/panel";
import { asCommand } from "../../api/command";
import { common } from "../../text/common";
import { text } from "../../text/audit";
import { reasonText } from "../../text/reason";
import { notedHead, type ChainPage, type Verified } from "./chain";
import { verifyChain, type Outcome } from "./verification";

/** The chain of the log: where it ends now, and its verification by this browser. */
export function Chain() {
    const chain = useResource(read("/v1/audit/verify", {}, { limit: 1 }), { every: 15_000 });
    return (
        <Panel title={text("chain")} resource={chain}>
            {(page) => (
                <div class="stack">
                    <p class="faint">{text("chain_lead")}</p>
                    <Present page={page} />
                    <Verification head={page.head.position} />
                </div>
            )}
        </Panel>
    );
}

function Present({ page }: { page: ChainPage }) {
    const { head, forgotten, forgottenAt, unsealed, unsealedSeconds } = page;
    const waiting = text("unsealed_value", { n: unsealed, age: duration((unsealedSeconds ?? 0) * 1_000) });
    const removed = (
        <>
            {number(forgotten)} · <Time at={forgottenAt} />
        </>
    );
    return (
        <Facts
            facts={[
                [text("head"), <Hash key="head" position={head.position} hash={head.hash} />],
                [text("unsealed"), unsealed > 0 ? waiting : text("unsealed_none")],
                [text("forgotten"), forgotten > 0 ? removed : text("unsealed_none")],
            ]}
        />
    );
}

function Hash({ position, hash }: { position: number; hash: string }) {
    const whole = `${position}:${hash}`;
    return (
        <span class="row">
            <code>{whole}</code>
            <CopyButton text={whole} />
        </span>
    );
}

function Verification({ head }: { head: number }) {
    const [typed, setTyped] = useState("");
    const [wrong, setWrong] = useState(false);
    const [outcome, setOutcome] = useState<Outcome>();
    const asking = useRef<AbortController | undefined>(undefined);
    useEffect(() => () => asking.current?.abort(), []);
    const running = outcome?.kind === "running";
    const submit = (event: Event) => {
        event.preventDefault();
        const noted = notedHead(typed);
        setWrong(typed.trim() !== "" && !noted);
        if (typed.trim() !== "" && !noted) return;
        const controller = (asking.current = new AbortController());
        setOutcome({ kind: "running", entries: 0 });
        void verifyChain(noted, controller.signal, setOutcome);
    };
    return (
        <form class="verification" onSubmit={submit}>
            <Field label={text("noted")} hint={text("noted_hint")} error={wrong ? text("noted_wrong") : undefined}>
                {(id) => <input id={id} class="mono" value={typed} autocomplete="off" spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value)} />}
            </Field>
            <div class="row">
                <Button type="submit" kind="primary" busy={running}>
                    {text("verify")}
                </Button>
                {running && <Button onClick={() => asking.current?.abort()}>{text("stop")}</Button>}
            </div>
            <div aria-live="polite">{outcome && <Result outcome={outcome} head={head} />}</div>
            <CopyLine name={common("as_command")} text={asCommand(["audit", "verify", ...(notedHead(typed) ? ["--head", typed.trim()] : [])])} />
        </form>
    );
}

function Result({ outcome, head }: { outcome: Outcome; head: number }) {
    if (outcome.kind === "running") return <p>{text("verifying", { n: outcome.entries })}</p>;
    if (outcome.kind === "stopped") return <p class="note">{text("verify_stopped")}</p>;
    if (outcome.kind === "done") return <Verdict verified={outcome.verified} at={outcome.at} head={head} />;
    const { failure } = outcome;
    const reason = failure === "overtaken" ? text("overtaken") : reasonText(failure);
    return <p class="problem">{text("verify_failed", { reason })}</p>;
}

function Verdict({ verified, at, head }: { verified: Verified; at: number; head: number }) {
    const { fault, entries, from, until, met } = verified;
    const time = (value: string | number) => shortTime(value, now.value);
    return (
        <div class={fault ? "note bad" : "note good"}>
            {fault ? (
                <p>
                    <strong>{text("broken")}</strong> {text(fault.key, fault.values)} {text("broken_after", { n: entries })}
                </p>
            ) : (
                <p class="strong">{entries > 0 ? text("holds", { n: entries }) : text("holds_none")}</p>
            )}
            <p>
                {text("verified_by", { time: time(at) })} {from && until && text("verified_range", { from: time(from), until: time(until) })}
            </p>
            {!fault && <p>{met ? text("noted_met") : text("noted_absent")}</p>}
            {!fault && head > verified.head.position && <p class="strong">{text("newer")}</p>}
            <CopyLine name={text("verified_head")} text={`${verified.head.position}:${verified.head.hash}`} />
        </div>
    );
}
