// What an order has beside its parameters: id, queue, priority, times, conditions.

import { newOrder as text } from "../../text/new-order";
import { zone } from "../../app/time";
import { Button } from "../../parts/button";
import type { Condition, Draft, Pair } from "./body";
import { ChoiceField, RowList, Section, TextField, TimeField, type Errors } from "./inputs";
import { notifyPointers } from "./receivers";

interface Props {
    draft: Draft;
    errors: Errors;
    onChange: (part: Partial<Draft>) => void;
}

/** Pointers of the fields of these sections. */
export function detailPointers(draft: Draft): string[] {
    const after = draft.after.flatMap((_, at) => [
        `/lifecycle/after/${at}`,
        `/lifecycle/after/${at}/order`,
        `/lifecycle/after/${at}/states`,
        `/lifecycle/after/${at}/otherwise`,
    ]);
    const labels = ["/labels", ...draft.labels.map(({ name }) => `/labels/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`)];
    const fixed = ["id", "scenario", "scenarioVersion", "mode", "queue", "priority", "transactionId", "flow"].map((name) => `/${name}`);
    const times = ["startAt", "periodToStart", "promiseAt"].map((name) => `/lifecycle/${name}`);
    return [...fixed, ...labels, ...times, ...after, ...notifyPointers(draft.receivers)];
}

export function Identity({ draft, errors, onChange, onNewId }: Props & { onNewId: () => void }) {
    const isSequential = draft.mode === "sequential";
    return (
        <>
            <div class="with-button">
                <TextField
                    label={text("id")}
                    mono
                    required
                    hint={text("id_hint")}
                    value={draft.id}
                    error={errors.get("/id")}
                    onChange={(id) => onChange({ id })}
                />
                <Button onClick={onNewId}>{text("id_new")}</Button>
            </div>
            <TextField
                label={text("transaction")}
                hint={text("transaction_hint")}
                value={draft.transactionId}
                error={errors.get("/transactionId")}
                onChange={(transactionId) => onChange({ transactionId })}
            />
            <div class="field-grid">
                <ChoiceField
                    label={text("mode")}
                    value={draft.mode}
                    options={[
                        { value: "parallel", text: text("mode_parallel") },
                        { value: "sequential", text: text("mode_sequential") },
                    ]}
                    error={errors.get("/mode")}
                    onChange={(mode) => onChange({ mode })}
                />
                {isSequential && (
                    <TextField
                        label={text("queue")}
                        required
                        value={draft.queue}
                        error={errors.get("/queue")}
                        onChange={(queue) => onChange({ queue })}
                    />
                )}
                <ChoiceField
                    label={text("priority")}
                    value={draft.priority}
                    options={(["high", "normal", "low"] as const).map((value) => ({ value, text: value }))}
                    error={errors.get("/priority")}
                    onChange={(priority) => onChange({ priority })}
                />
            </div>
        </>
    );
}

export function Lifecycle({ draft, errors, onChange }: Props) {
    return (
        <Section title={text("start")}>
            <p class="faint">{text("times_in", { zone: zone.value })}</p>
            <div class="field-grid">
                <TimeField
                    label={text("start_at")}
                    value={draft.startAt}
                    error={errors.get("/lifecycle/startAt")}
                    onChange={(startAt) => onChange({ startAt })}
                />
                <TextField
                    label={text("period")}
                    hint={text("period_hint")}
                    value={draft.periodToStart}
                    error={errors.get("/lifecycle/periodToStart")}
                    onChange={(periodToStart) => onChange({ periodToStart })}
                />
                <TimeField
                    label={text("promise")}
                    hint={text("promise_hint")}
                    value={draft.promiseAt}
                    error={errors.get("/lifecycle/promiseAt")}
                    onChange={(promiseAt) => onChange({ promiseAt })}
                />
            </div>
            <After draft={draft} errors={errors} onChange={onChange} />
        </Section>
    );
}

function After({ draft, errors, onChange }: Props) {
    const errorAt = (index: number, field: string) => errors.get(`/lifecycle/after/${index}/${field}`);
    return (
        <RowList<Condition>
            name={text("after")}
            rows={draft.after}
            empty={{ order: "", states: "", otherwise: "" }}
            add={text("add_condition")}
            nameOf={(row) => row.order}
            onChange={(after) => onChange({ after })}
        >
            {(row, change, index) => (
                <>
                    <TextField
                        label={text("after_order")}
                        mono
                        value={row.order}
                        error={errorAt(index, "order") ?? errors.get(`/lifecycle/after/${index}`)}
                        onChange={(order) => change({ order })}
                    />
                    <TextField
                        label={text("after_states")}
                        mono
                        hint={text("after_states_hint")}
                        value={row.states}
                        error={errorAt(index, "states")}
                        onChange={(states) => change({ states })}
                    />
                    <ChoiceField
                        label={text("after_otherwise")}
                        value={row.otherwise}
                        options={["", "wait", "fail", "cancel"].map((value) => ({ value, text: value || text("not_set") }))}
                        error={errorAt(index, "otherwise")}
                        onChange={(otherwise) => change({ otherwise })}
                    />
                </>
            )}
        </RowList>
    );
}

export function Flow({ draft, errors, onChange }: Props) {
    return <Pairs field="flow" add={text("add_flow")} name={text("flow_name")} rows={draft.flow} errors={errors} onChange={(flow) => onChange({ flow })} />;
}

export function Labels({ draft, errors, onChange }: Props) {
    return <Pairs field="labels" add={text("add_label")} name={text("label_key")} rows={draft.labels} errors={errors} onChange={(labels) => onChange({ labels })} />;
}

interface PairsProps {
    readonly field: "flow" | "labels";
    readonly add: string;
    readonly name: string;
    readonly rows: readonly Pair[];
    readonly errors: Props["errors"];
    readonly onChange: (rows: readonly Pair[]) => void;
}

/** Rows of a name and a value each, as a field of the order. */
function Pairs({ field, add, name, rows, errors, onChange }: PairsProps) {
    const wrong = [...errors].filter(([pointer]) => pointer === `/${field}` || pointer.startsWith(`/${field}/`)).map(([, message]) => message);
    return (
        <Section title={text(field)}>
            <RowList name={text(field)} nameIsShown rows={rows} empty={{ name: "", value: "" }} add={add} nameOf={(row) => row.name} onChange={onChange}>
                {(row, change) => (
                    <>
                        <TextField label={name} mono value={row.name} onChange={(typed) => change({ name: typed })} />
                        <TextField label={text("flow_value")} mono value={row.value} onChange={(value) => change({ value })} />
                    </>
                )}
            </RowList>
            {wrong.length > 0 && (
                <p class="field-error" role="alert">
                    {wrong.join("; ")}
                </p>
            )}
        </Section>
    );
}
