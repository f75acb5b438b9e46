// The form of a new order: what is typed, what it means, and the registration.

import { useEffect, useRef, useState } from "preact/hooks";
import { Failure, change, json, type ApiRequest, type Schemas } from "../../api/client";
import { asCurl } from "../../api/command";
import { announce } from "../../app/announce";
import { go, setQuery, to } from "../../app/router";
import { zoneChoice } from "../../app/time";
import { unique } from "../../app/unique";
import { common } from "../../text/common";
import { newOrder as text } from "../../text/new-order";
import { reasonText } from "../../text/reason";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { CopyLine } from "../../parts/page";
import { bodyOf, changesOf, type Draft } from "./body";
import { Flow, Labels, Identity, Lifecycle, detailPointers } from "./details";
import { refusalOf } from "./faults";
import { ChoiceField, Section, TextField, type Errors } from "./inputs";
import { ParamsForm } from "./params-form";
import { Receivers } from "./receivers";
import { useSchema, type Known } from "./source";
import { beginWith, made, pointersOf, type Typed } from "./typed";

type Registered = Schemas["RegisteredView"];

interface Props {
    scenarios: readonly string[];
    begin: Draft;
    params: Record<string, unknown>;
    /** The order that is cloned. */
    clone?: string | undefined;
}

/** Outcome of the last try. */
type Outcome =
    | { readonly kind: "none" }
    | { readonly kind: "refused"; readonly errors: Errors; readonly others: readonly string[] }
    | { readonly kind: "tried"; readonly answer: Registered }
    | { readonly kind: "done"; readonly answer: Registered };

export function newId(): string {
    return `web-${unique()}`;
}

export function OrderForm(props: Props) {
    const form = useOrderForm(props);
    const { draft, known, typed, outcome, errors } = form;
    const isDone = outcome.kind === "done";
    return (
        <form ref={form.element} class="stack" noValidate onSubmit={(event) => void form.submit(event)}>
            <div class="columns">
                <div class="stack">
                    <Section title={text("scenario")}>
                        <ScenarioChoice {...props} draft={draft} known={known} errors={errors} onChange={form.change} />
                        <Identity draft={draft} errors={errors} onChange={form.change} onNewId={() => form.change({ id: newId() })} />
                    </Section>
                    <Flow draft={draft} errors={errors} onChange={form.change} />
                    <Labels draft={draft} errors={errors} onChange={form.change} />
                </div>
                <div class="stack">
                    {known.kind === "failed" && (
                        <p class="problem" role="alert">
                            {known.reason}
                        </p>
                    )}
                    {typed && <ParamsForm typed={typed} root={form.root} errors={errors} onChange={form.write} />}
                    <Lifecycle draft={draft} errors={errors} onChange={form.change} />
                    <Receivers receivers={draft.receivers} errors={errors} onChange={(receivers) => form.change({ receivers })} />
                </div>
            </div>
            <p class="faint">{text("required_note")}</p>
            <div class="form-foot">
                <OutcomeNote outcome={outcome} />
                <div class="row end">
                    {form.request && (
                        <details>
                            <summary>{common("as_request")}</summary>
                            <CopyLine name={common("as_curl")} text={asCurl(form.request, window.location.origin)} />
                        </details>
                    )}
                    <Button needs="operator" busy={form.busy} disabled={!typed || isDone} onClick={() => void form.tryOut()}>
                        {text("dry_run")}
                    </Button>
                    <Button type="submit" kind="primary" needs="operator" busy={form.busy} disabled={!typed || isDone || draft.scenario === ""}>
                        {text(props.clone ? "create_clone" : "create")}
                    </Button>
                </div>
            </div>
        </form>
    );
}

function useOrderForm({ begin, params, clone }: Props) {
    const element = useRef<HTMLFormElement>(null);
    const [draft, setDraft] = useState(begin);
    const [typed, setTyped] = useState<Typed>();
    const [outcome, setOutcome] = useState<Outcome>({ kind: "none" });
    const [busy, setBusy] = useState(false);
    const known = useSchema(draft.scenario, draft.version);
    const root = known.kind === "known" ? known.root : undefined;
    const last = useRef(params);
    useEffect(() => {
        // What was typed for one scenario is kept for the next, as far as it means something.
        if (known.kind !== "waiting") setTyped(beginWith(last.current, root));
    }, [known]);
    const isUtc = zoneChoice.value === "utc";
    const meant = typed && made(typed, root);
    if (meant && meant.faults.length === 0) last.current = meant.params;
    const body = meant && bodyOf(draft, meant.params, isUtc);
    const request = body && requestOf(body, clone ? { id: clone, before: bodyOf(begin, params, isUtc) } : undefined);

    const refuse = (errors: Errors, others: readonly string[]) => {
        setOutcome({ kind: "refused", errors, others });
        // The first field that is wrong, once it says so.
        window.setTimeout(() => element.current?.querySelector<HTMLElement>("[aria-invalid='true']")?.focus(), 50);
    };
    const run = async (one: ApiRequest | undefined, done: (answer: Registered) => void) => {
        if (!one || !typed || !meant) return;
        const own = new Map(meant.faults.map((fault) => [`/params${fault.pointer}`, text(`fault_${fault.kind}`)]));
        if (own.size > 0) return refuse(own, []);
        setBusy(true);
        try {
            done(await json<Registered>(one));
        } catch (error) {
            const failure = error instanceof Failure ? error : new Failure(0, { detail: String(error) });
            if (failure.status === 0) return refuse(new Map(), [reasonText(failure)]);
            const { at, others } = refusalOf(failure, [...detailPointers(draft), ...pointersOf(typed, root), "/params"]);
            refuse(at, others);
        } finally {
            setBusy(false);
        }
    };
    return {
        element,
        draft,
        typed,
        known,
        root,
        request,
        outcome,
        busy,
        errors: outcome.kind === "refused" ? outcome.errors : new Map<string, string>(),
        change: (part: Partial<Draft>) => setDraft({ ...draft, ...part }),
        write: setTyped,
        tryOut: () => run(body && change("POST", "/v1/orders", {}, body, { dryRun: true }), (answer) => setOutcome({ kind: "tried", answer })),
        submit: (event: Event) => {
            event.preventDefault();
            return run(request, (answer) => {
                announce(text("created"));
                // A remark of the server is read before the page is left.
                if (answer.note) setOutcome({ kind: "done", answer });
                else go(to("orders", answer.id ?? draft.id));
            });
        },
    };
}

/** The registration, or the clone with what differs from the old order. */
function requestOf(body: Record<string, unknown>, clone: { id: string; before: Record<string, unknown> } | undefined): ApiRequest {
    return clone ? change("POST", "/v1/orders/{id}/clone", { id: clone.id }, changesOf(clone.before, body)) : change("POST", "/v1/orders", {}, body);
}

interface ScenarioProps extends Props {
    draft: Draft;
    known: Known;
    errors: Errors;
    onChange: (part: Partial<Draft>) => void;
}

function ScenarioChoice({ scenarios, draft, known, errors, clone, onChange }: ScenarioProps) {
    const names = draft.scenario === "" || scenarios.includes(draft.scenario) ? scenarios : [draft.scenario, ...scenarios];
    const choose = (scenario: string) => {
        onChange({ scenario, version: "" });
        if (!clone) setQuery({ scenario }, true);
    };
    return (
        <div class="field-grid">
            <ChoiceField
                label={text("scenario")}
                required
                value={draft.scenario}
                options={[{ value: "", text: text("choose") }, ...names.map((value) => ({ value, text: value }))]}
                hint={known.kind === "known" ? known.description : text("scenario_hint")}
                error={errors.get("/scenario")}
                onChange={choose}
            />
            <TextField
                label={text("version")}
                hint={text("version_hint")}
                value={draft.version}
                error={errors.get("/scenarioVersion")}
                onChange={(version) => onChange({ version: version.trim() })}
            />
        </div>
    );
}

function OutcomeNote({ outcome }: { outcome: Outcome }) {
    if (outcome.kind === "none") return null;
    if (outcome.kind === "refused")
        return (
            <div class="problem" role="alert">
                <p>
                    <strong>{text("refused")}</strong> {outcome.errors.size > 0 && text("refused_fields", { n: outcome.errors.size })}
                </p>
                {outcome.others.map((other) => (
                    <p key={other}>{other}</p>
                ))}
            </div>
        );
    const { answer } = outcome;
    const isNew = answer.status !== "duplicate";
    return (
        <div class="note good" role="status">
            <p class="row">
                {outcome.kind === "done" ? text(isNew ? "created" : "duplicate") : text(isNew ? "dry_run_good" : "dry_run_duplicate")}
                <Badge word={answer.orderStatus} />
            </p>
            {answer.note && (
                <p>
                    {text("note")} {answer.note}
                </p>
            )}
            {outcome.kind === "done" && answer.id && <a href={to("orders", answer.id)}>{text("open_order")}</a>}
        </div>
    );
}
