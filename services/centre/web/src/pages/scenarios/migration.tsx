// Moving live orders to another version: first a look that moves nothing, then the move itself.

import { useEffect, useRef, useState } from "preact/hooks";
import { type Schemas } from "../../api/client";
import { announce } from "../../app/announce";
import { to } from "../../app/router";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { Field } from "../../parts/field";
import { common } from "../../text/common";
import { reasonText } from "../../text/reason";
import { scenarios as text } from "../../text/scenarios";
import { migrateAll, migration, migrationPreview, type Migrated, type PartRequest } from "./migrating";
import { PairChoice, pairOf } from "./pair";
import "../../style/workbench.css";

interface State {
    readonly busy: boolean;
    readonly sum?: Migrated;
    readonly failure?: string;
}

/** Migration between what the key names. It ends with the component: what was not looked at by then is left. */
function useMigration(key: string) {
    const [state, setState] = useState<State>({ busy: false });
    const asking = useRef<AbortController | undefined>(undefined);
    useEffect(() => {
        setState({ busy: false });
        return () => asking.current?.abort();
    }, [key]);
    const run = async (part: PartRequest) => {
        const own = new AbortController();
        asking.current = own;
        setState({ busy: true });
        try {
            const sum = await migrateAll(part, (sum) => setState({ busy: true, sum }), own.signal);
            setState({ busy: false, sum });
        } catch (error) {
            if (!own.signal.aborted) setState((before) => ({ ...before, busy: false, failure: reasonText(error) }));
            return false;
        }
        return true;
    };
    return { state, run };
}

export function Migration({ name, versions }: { name: string; versions: readonly Schemas["VersionLine"][] }) {
    const pair = pairOf(versions);
    const { state, run } = useMigration(`${pair.from} ${pair.to}`);
    const go = async (apply: boolean, reason?: string) => {
        if (await run(migration({ name, ...pair, apply, ...(reason ? { reason } : {}) }))) announce(common("done"));
    };
    const [asked, setAsked] = useState(false);
    if (versions.length < 2) return <p class="panel nothing">{text("migrate_one")}</p>;
    const same = pair.from === pair.to;
    const { sum } = state;
    return (
        <section class="panel" aria-label={text("tab_migrate")}>
            <p class="soft">{text("migrate_hint")}</p>
            <div class="row">
                <PairChoice versions={versions} pair={pair} from={text("migrate_from")} to={text("migrate_to")} />
                <Button needs="admin" kind="primary" disabled={same} busy={state.busy} title={same ? text("migrate_same") : text("migrate_dry_hint")} onClick={() => void go(false)}>
                    {text("migrate_dry")}
                </Button>
            </div>
            {same && <p class="hint">{text("migrate_same")}</p>}
            <Progress state={state} />
            {sum && !state.busy && <Outcome sum={sum} onMove={() => setAsked(true)} />}
            {asked && sum && (
                <Sure
                    name={name}
                    sum={sum}
                    onClose={() => setAsked(false)}
                    onMove={(reason) => {
                        setAsked(false);
                        void go(true, reason);
                    }}
                />
            )}
        </section>
    );
}

/** What would happen to the live orders of a version under a text that is not applied. */
export function MigrationPreview({ from, body }: { from: number; body: string }) {
    const { state, run } = useMigration(`${from} ${body}`);
    useEffect(() => void run(migrationPreview(from, body)), [from, body]);
    return (
        <section class="preview" aria-label={text("migrate_preview", { from })} aria-busy={state.busy}>
            <h3>{text("migrate_preview", { from })}</h3>
            <Progress state={state} />
            {state.sum && !state.busy && <Outcome sum={state.sum} />}
        </section>
    );
}

function Progress({ state: { busy, sum, failure } }: { state: State }) {
    return (
        <>
            {failure && (
                <p class="problem" role="alert">
                    {failure}
                </p>
            )}
            {busy && <p role="status">{text("migrate_looked", { n: (sum?.moved ?? 0) + (sum?.left ?? 0) })}</p>}
        </>
    );
}

function Outcome({ sum, onMove }: { sum: Migrated; onMove?: () => void }) {
    if (sum.moved + sum.left === 0) return <p class="nothing">{text("migrate_nothing", { from: sum.from })}</p>;
    return (
        <div>
            <p class={sum.applied ? "note good" : "note plain"}>
                {text(sum.applied ? "migrate_moved_done" : "migrate_moved", { n: sum.moved })}; {text(sum.applied ? "migrate_left_done" : "migrate_left", { n: sum.left })}.{" "}
                {onMove && !sum.applied && text("migrate_dry_hint")}
            </p>
            <ul class="reasons">
                {sum.reasons.map((left) => (
                    <li key={left.reason}>
                        <strong>{text("migrate_orders", { n: left.orders })}</strong> {left.reason}, {text("migrate_examples")}{" "}
                        {left.examples.slice(0, 5).map((id) => (
                            <a key={id} class="in-text" href={to("orders", id)}>
                                {id}
                            </a>
                        ))}
                    </li>
                ))}
            </ul>
            {onMove && !sum.applied && sum.moved > 0 && (
                <Button needs="admin" kind="danger" onClick={onMove}>
                    {text("migrate_apply", { n: sum.moved })}
                </Button>
            )}
        </div>
    );
}

function Sure({ name, sum, onClose, onMove }: { name: string; sum: Migrated; onClose: () => void; onMove: (reason: string) => void }) {
    const [reason, setReason] = useState("");
    return (
        <Dialog title={text("migrate_title", { to: sum.to })} onClose={onClose}>
            <form
                onSubmit={(event) => {
                    event.preventDefault();
                    onMove(reason);
                }}
            >
                <div class="dialog-body">
                    <p>{text("migrate_sure", { n: sum.moved, name, from: sum.from, to: sum.to })}</p>
                    <Field label={text("migrate_reason")} hint={common("reason_hint")}>
                        {(id) => <input id={id} value={reason} maxLength={500} onInput={(event) => setReason(event.currentTarget.value)} />}
                    </Field>
                </div>
                <footer class="dialog-foot">
                    <Button onClick={onClose}>{common("cancel")}</Button>
                    <Button type="submit" kind="danger">
                        {text("migrate_apply", { n: sum.moved })}
                    </Button>
                </footer>
            </form>
        </Dialog>
    );
}
