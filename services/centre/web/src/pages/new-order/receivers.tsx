// The receivers of the notifications of a new order, each with its own occasions and form.

import { newOrder as text } from "../../text/new-order";
import { Button } from "../../parts/button";
import { FORMATS, MOST_RECEIVERS, NO_RECEIVER, OCCASIONS, receiverPointers, type Receiver } from "./body";
import { ChoiceField, Section, TextField, type Errors } from "./inputs";

const FIELDS = ["url", "correlationId", "timezone", "on", "format", "group/max", "group/within", "group"] as const;

/** Pointers of the fields of the section. */
export function notifyPointers(receivers: readonly Receiver[]): string[] {
    const each = receiverPointers(receivers).filter((pointer) => pointer !== undefined);
    return ["/notify", ...each, ...each.flatMap((pointer) => FIELDS.map((name) => `${pointer}/${name}`))];
}

interface Props {
    receivers: readonly Receiver[];
    errors: Errors;
    onChange: (receivers: readonly Receiver[]) => void;
}

export function Receivers({ receivers, errors, onChange }: Props) {
    const pointers = receiverPointers(receivers);
    const isFull = receivers.length >= MOST_RECEIVERS;
    const ofAll = pointers.includes("/notify") ? undefined : errors.get("/notify");
    return (
        <Section title={text("notify")}>
            {receivers.map((receiver, index) => (
                <OneReceiver
                    key={index}
                    number={index + 1}
                    receiver={receiver}
                    pointer={pointers[index]}
                    errors={errors}
                    onChange={(part) => onChange(receivers.map((one, at) => (at === index ? { ...one, ...part } : one)))}
                    {...(receivers.length > 1 ? { onRemove: () => onChange(receivers.filter((_, at) => at !== index)) } : {})}
                />
            ))}
            {ofAll && (
                <p class="field-error" role="alert">
                    {ofAll}
                </p>
            )}
            <Button small disabled={isFull} onClick={() => onChange([...receivers, NO_RECEIVER])}>
                {text("add_receiver")}
            </Button>
            {isFull && <span class="hint">{text("receivers_full", { n: MOST_RECEIVERS })}</span>}
        </Section>
    );
}

interface OneProps {
    number: number;
    receiver: Receiver;
    /** None of one with nothing in it: it is not sent. */
    pointer: string | undefined;
    errors: Errors;
    onChange: (part: Partial<Receiver>) => void;
    onRemove?: () => void;
}

function OneReceiver({ number, receiver, pointer, errors, onChange, onRemove }: OneProps) {
    const errorAt = (name: (typeof FIELDS)[number]) => (pointer === undefined ? undefined : errors.get(`${pointer}/${name}`));
    return (
        <fieldset class={onRemove ? "field-group" : "row-list"}>
            <legend class={onRemove ? "" : "hidden-text"}>{text("receiver", { number })}</legend>
            <div class="with-button">
                <TextField
                    label={text("notify_url")}
                    mono
                    hint={text("notify_url_hint")}
                    value={receiver.url}
                    error={errorAt("url") ?? (pointer === undefined ? undefined : errors.get(pointer))}
                    onChange={(url) => onChange({ url })}
                />
                {onRemove && (
                    <Button kind="quiet" label={text("remove", { name: text("receiver", { number }) })} onClick={onRemove}>
                        ×
                    </Button>
                )}
            </div>
            {pointer !== undefined && (
                <>
                    <div class="field-grid">
                        <TextField label={text("correlation")} value={receiver.correlationId} error={errorAt("correlationId")} onChange={(correlationId) => onChange({ correlationId })} />
                        <TextField
                            label={text("notify_timezone")}
                            hint={text("notify_timezone_hint")}
                            value={receiver.timezone}
                            error={errorAt("timezone")}
                            onChange={(timezone) => onChange({ timezone })}
                        />
                        <ChoiceField
                            label={text("notify_format")}
                            value={receiver.format}
                            options={["", ...FORMATS].map((value) => ({ value, text: value || text("not_set") }))}
                            error={errorAt("format")}
                            onChange={(format) => onChange({ format })}
                        />
                        <TextField
                            label={text("notify_group_max")}
                            hint={text("notify_group_max_hint")}
                            value={receiver.groupMax}
                            error={errorAt("group/max") ?? errorAt("group")}
                            onChange={(groupMax) => onChange({ groupMax })}
                        />
                        <TextField
                            label={text("notify_group_within")}
                            hint={text("notify_group_within_hint")}
                            value={receiver.groupWithin}
                            error={errorAt("group/within")}
                            onChange={(groupWithin) => onChange({ groupWithin })}
                        />
                    </div>
                    <Occasions on={receiver.on} error={errorAt("on")} onChange={(on) => onChange({ on })} />
                </>
            )}
        </fieldset>
    );
}

function Occasions({ on, error, onChange }: { on: readonly string[]; error: string | undefined; onChange: (on: readonly string[]) => void }) {
    const toggle = (word: string, isOn: boolean) => onChange(OCCASIONS.filter((one) => (one === word ? isOn : on.includes(one))));
    return (
        <fieldset class="row-list">
            <legend>{text("notify_on")}</legend>
            <div class="row">
                {OCCASIONS.map((word) => (
                    <label key={word} class="check">
                        <input type="checkbox" checked={on.includes(word)} onChange={(event) => toggle(word, event.currentTarget.checked)} />
                        <code>{word}</code>
                    </label>
                ))}
            </div>
            {error && <span class="field-error">{error}</span>}
        </fieldset>
    );
}
