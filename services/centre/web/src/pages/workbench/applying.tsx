// Storing the text as a new version: what changes, which live orders it would leave behind, and who was faster.

import { useState } from "preact/hooks";
import { change, Failure, json, read, type ApiRequest, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { announce } from "../../app/announce";
import { toWith } from "../../app/router";
import { may } from "../../app/session";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { LineDiff } from "../../parts/line-diff-view";
import { Time } from "../../parts/moment";
import { Panel } from "../../parts/panel";
import { whoOf } from "../../parts/who";
import { common } from "../../text/common";
import { reasonText } from "../../text/reason";
import { scenarios } from "../../text/scenarios";
import { workbench as text } from "../../text/workbench";
import { byState, grouped } from "../scenarios/live";
import { MigrationPreview } from "../scenarios/migration";
import type { Base, Bench } from "./bench";
import { loadBase } from "./opening";

type Applied = Schemas["AppliedView"];

/** A version that was applied while the text was written. */
interface Faster {
    readonly base: Base;
    readonly at: string | undefined;
    readonly by: string | undefined;
}

/** Request that stores a text only on top of the version it was made from. */
export function applyRequest(name: string, body: string, base: Base | undefined): ApiRequest {
    const condition: Record<string, string> = base ? { "if-match": base.tag } : { "if-none-match": "*" };
    return { ...change("PUT", "/v1/scenarios/{name}", { name }, body), mediaType: "application/yaml", headers: condition };
}

/** Who applied the newest version, and when. The audit log is not for everybody: without it, nobody is named. */
async function findFaster(name: string): Promise<Faster> {
    const base = await loadBase(name);
    const [versions, audit] = await Promise.allSettled([
        json(read("/v1/scenarios/{name}/versions", { name }, { limit: 1 })),
        json(read("/v1/audit", {}, { kind: "scenario", subject: name, action: "apply", limit: 1 })),
    ]);
    const by = audit.status === "fulfilled" ? whoOf(audit.value.items[0]?.by) : undefined;
    return { base, at: versions.status === "fulfilled" ? versions.value.items[0]?.createdAt : undefined, by };
}

export function ApplyDialog({ bench, onClose }: { bench: Bench; onClose: () => void }) {
    const { name, states } = bench.facts.value;
    const mine = bench.text.value;
    const stored = bench.base.value?.name === name ? bench.base.value : undefined;
    const [busy, setBusy] = useState(false);
    const [failure, setFailure] = useState<string>();
    const [faster, setFaster] = useState<Faster>();
    const [done, setDone] = useState<{ applied: Applied; before: number | undefined }>();
    const base = faster?.base ?? stored;
    const apply = async () => {
        setBusy(true);
        setFailure(undefined);
        try {
            const applied = await json<Applied>(applyRequest(name, mine, base));
            bench.base.value = { name, version: applied.version, tag: applied.tag, text: mine };
            setDone({ applied, before: base?.version });
            announce(common("done"));
        } catch (error) {
            if (error instanceof Failure && error.status === 412) setFaster(await findFaster(name).catch(() => undefined));
            setFailure(reasonText(error));
        } finally {
            setBusy(false);
        }
    };
    if (done) return <Done name={name} {...done} onClose={onClose} />;
    return (
        <Dialog title={text("apply_title", { name })} onClose={onClose} wide>
            <div class="dialog-body">
                {faster && <FasterNote faster={faster} />}
                {bench.base.value && !stored && <p class="note">{text("apply_renamed")}</p>}
                <p class="soft">{base ? text("apply_hint") : text("apply_first", { name })}</p>
                {base && <LostStates name={name} states={states} />}
                {base && base.text !== mine && may("admin") && <MigrationPreview from={base.version} body={mine} />}
                <LineDiff before={base?.text ?? ""} after={mine} />
                {failure && !faster && (
                    <p class="problem" role="alert">
                        {failure}
                    </p>
                )}
            </div>
            <footer class="dialog-foot">
                <Button onClick={onClose}>{common("cancel")}</Button>
                {faster && (
                    <Button
                        onClick={() => {
                            bench.open(faster.base.text, faster.base, bench.trials.value);
                            onClose();
                        }}
                    >
                        {text("apply_theirs")}
                    </Button>
                )}
                <Button kind="primary" needs="admin" busy={busy} disabled={base?.text === mine} title={base?.text === mine ? text("apply_same") : undefined} onClick={() => void apply()}>
                    {text(faster ? "apply_again" : "apply")}
                </Button>
            </footer>
        </Dialog>
    );
}

function FasterNote({ faster }: { faster: Faster }) {
    const [before, after] = text("faster", { version: String(faster.base.version), when: "\n" }).split("\n");
    return (
        <p class="note" role="alert">
            {before}
            <Time at={faster.at} />
            {after} {faster.by && text("by", { name: faster.by })}
        </p>
    );
}

/** Live orders in states that the new text has lost: they could never be moved to it. */
function LostStates({ name, states }: { name: string; states: readonly string[] }) {
    const counts = useResource(byState(name), { every: 0 });
    return (
        <Panel resource={counts} bare>
            {(data) => {
                const lost = grouped(data).filter((group) => group.key !== "" && !states.includes(group.key));
                if (lost.length === 0) return <p class="soft">{data.complete ? text("apply_lost_none") : scenarios("counts_partial")}</p>;
                return (
                    <div class="note">
                        <p>{text("apply_lost")}</p>
                        <ul class="plain-list">
                            {lost.map((group) => (
                                <li key={group.key}>
                                    <a class="in-text" href={toWith("orders", { scenario: name, state: group.key })}>
                                        {group.key}
                                    </a>
                                    {`: ${group.orders}`}
                                </li>
                            ))}
                        </ul>
                    </div>
                );
            }}
        </Panel>
    );
}

function Done({ name, applied, before, onClose }: { name: string; applied: Applied; before: number | undefined; onClose: () => void }) {
    return (
        <Dialog title={text("apply_title", { name })} onClose={onClose}>
            <div class="dialog-body">
                <p class="note good">{text("apply_done", { version: String(applied.version) })}</p>
                {before !== undefined && before !== applied.version && (
                    <p>
                        <a href={toWith(`scenarios/${encodeURIComponent(name)}`, { tab: "migrate", from: before, to: applied.version })}>{text("apply_migrate")}</a>
                    </p>
                )}
            </div>
            <footer class="dialog-foot">
                <Button kind="primary" onClick={onClose}>
                    {common("close")}
                </Button>
            </footer>
        </Dialog>
    );
}
