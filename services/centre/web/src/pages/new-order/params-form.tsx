// The parameters of a new order: fields of the scenario's schema, rows, or JSON.

import { common } from "../../text/common";
import { newOrder as text } from "../../text/new-order";
import { Button } from "../../parts/button";
import { AreaField, ChoiceField, RowList, Section, TextField, type Errors } from "./inputs";
import { ROW_TYPES, type Row } from "./params";
import { pointerPart, type SchemaField } from "./schema";
import { made, typedIn, type Typed, type Way } from "./typed";

interface Props {
    typed: Typed;
    root: SchemaField | undefined;
    errors: Errors;
    onChange: (typed: Typed) => void;
}

export function ParamsForm({ typed, root, errors, onChange }: Props) {
    return (
        <Section title={text("params")} tools={<WayChoice typed={typed} root={root} errors={errors} onChange={onChange} />}>
            {!root && typed.way !== "json" && <p class="faint">{text("no_schema")}</p>}
            {typed.way === "fields" && root && <Fields {...{ typed, root, errors, onChange }} />}
            {typed.way === "rows" && <Rows name={text("params")} nameIsShown {...{ typed, root, errors, onChange }} />}
            {typed.way === "json" && (
                <AreaField
                    label={text("params_json")}
                    rows={14}
                    value={typed.json}
                    error={errors.get("/params")}
                    onChange={(json) => onChange({ ...typed, json })}
                />
            )}
            {typed.way !== "json" && errors.has("/params") && (
                <p class="field-error" role="alert">
                    {errors.get("/params")}
                </p>
            )}
        </Section>
    );
}

function WayChoice({ typed, root, onChange }: Props) {
    const ways: Way[] = root ? ["fields", "rows", "json"] : ["rows", "json"];
    const now = made(typed, root);
    // What means nothing yet would be lost on the way.
    const isBroken = now.faults.some((fault) => fault.kind !== "missing");
    return (
        <div class="row" role="group" aria-label={text("params_as")}>
            {ways.map((way) => {
                const other = way === typed.way ? typed : typedIn(way, now.params, root);
                const why = isBroken ? text("switch_first") : "";
                return (
                    <Button
                        key={way}
                        small
                        kind="quiet"
                        pressed={way === typed.way}
                        disabled={way !== typed.way && (isBroken || !other)}
                        title={why}
                        onClick={() => other && onChange(other)}
                    >
                        {text(`mode_${way}`)}
                    </Button>
                );
            })}
        </div>
    );
}

function Fields({ typed, root, errors, onChange }: Props & { root: SchemaField }) {
    const write = (pointer: string, value: string) => onChange({ ...typed, texts: { ...typed.texts, [pointer]: value } });
    return (
        <>
            <div class="field-grid">
                {root.fields?.map((field) => (
                    <SchemaInput key={field.pointer} field={field} typed={typed} errors={errors} onWrite={write} />
                ))}
            </div>
            {(root.open || typed.rows.length > 0) && <Rows name={text("others")} {...{ typed, root, errors, onChange }} />}
        </>
    );
}

interface InputProps {
    field: SchemaField;
    typed: Typed;
    errors: Errors;
    onWrite: (pointer: string, value: string) => void;
}

function SchemaInput({ field, typed, errors, onWrite }: InputProps) {
    if (field.kind === "group")
        return (
            <fieldset class="field-group">
                <legend>{field.label}</legend>
                {field.description && <p class="hint">{field.description}</p>}
                <div class="field-grid">
                    {field.fields?.map((inner) => (
                        <SchemaInput key={inner.pointer} field={inner} typed={typed} errors={errors} onWrite={onWrite} />
                    ))}
                </div>
            </fieldset>
        );
    const shared = {
        label: field.label,
        hint: hintOf(field),
        error: errors.get(`/params${field.pointer}`),
        required: field.required,
        value: typed.texts[field.pointer] ?? "",
        onChange: (value: string) => onWrite(field.pointer, value),
    };
    switch (field.kind) {
        case "choice":
            return <ChoiceField {...shared} options={optionsOf(field.choices?.map((choice) => JSON.stringify(choice)) ?? [], shared.value)} />;
        case "boolean":
            return <ChoiceField {...shared} options={optionsOf(["true", "false"], shared.value)} />;
        case "lines":
            return <AreaField {...shared} rows={3} />;
        case "json":
            return <AreaField {...shared} rows={4} />;
        default:
            return <TextField {...shared} />;
    }
}

/** Values of a choice as they are read: texts without their quotes. */
function optionsOf(values: readonly string[], present: string): { value: string; text: string }[] {
    const known = present === "" || values.includes(present) ? values : [...values, present];
    return [{ value: "", text: text("not_set") }, ...known.map((value) => ({ value, text: value.replace(/^"(.*)"$/, "$1") }))];
}

function hintOf(field: SchemaField): string | undefined {
    const kind = field.kind === "lines" ? text("lines_hint") : field.kind === "json" ? text("type_json") : undefined;
    const example = field.example === undefined ? undefined : JSON.stringify(field.example);
    const parts = [field.label === field.name ? undefined : field.name, field.description, kind, field.form, example].filter(Boolean);
    return parts.length > 0 ? parts.join(" · ") : undefined;
}

function Rows({ name, nameIsShown, typed, errors, onChange }: Props & { name: string; nameIsShown?: boolean }) {
    const empty: Row = { name: "", type: "text", value: "" };
    return (
        <RowList<Row>
            name={name}
            nameIsShown={nameIsShown ?? false}
            rows={typed.rows}
            empty={empty}
            add={text("add_row")}
            nameOf={(row) => row.name || common("none")}
            onChange={(rows) => onChange({ ...typed, rows })}
        >
            {(row, change) => (
                <>
                    <TextField label={text("row_name")} mono value={row.name} onChange={(value) => change({ name: value })} />
                    <ChoiceField
                        label={text("row_type")}
                        value={row.type}
                        options={ROW_TYPES.map((type) => ({ value: type, text: text(`type_${type}`) }))}
                        onChange={(type) => change({ type })}
                    />
                    <TextField
                        label={text("row_value")}
                        mono
                        value={row.value}
                        error={errors.get(`/params/${pointerPart(row.name)}`)}
                        onChange={(value) => change({ value })}
                    />
                </>
            )}
        </RowList>
    );
}
