// A question to the rules: which class and policy a failure would get. The question stands in the address.

import { useState } from "preact/hooks";
import type { Schemas } from "../../api/client";
import { useAnswer, type Answered } from "../../api/answer";
import { query, setQuery } from "../../app/router";
import { Button } from "../../parts/button";
import { Facts } from "../../parts/facts";
import { Field } from "../../parts/field";
import { Page } from "../../parts/page";
import { Said } from "../../parts/said";
import { Tabs } from "../../parts/tabs";
import { common } from "../../text/common";
import { text } from "../../text/errors";
import { reasonText } from "../../text/reason";
import { ASKED, classifyCommand, METHODS, questionOf, requestOf, type Asked } from "./classification";
import { tabs } from "./tabs";

type Explanation = Schemas["ExplanationView"];
type Typed = Record<Asked | "code", string> & { timeout: boolean };

export function ClassifyPage() {
    const question = questionOf(query.value);
    const request = question ? requestOf(question) : undefined;
    const answer = useAnswer<Explanation>(request ?? null, 0);
    return (
        <Page title={text("title")} {...(question && request ? { request, command: classifyCommand(question) } : {})}>
            <Tabs tabs={tabs()} label={text("tabs")} />
            <div class="columns">
                <section class="panel" aria-labelledby="classify">
                    <header class="panel-head">
                        <h2 id="classify">{text("classify")}</h2>
                    </header>
                    <p class="faint">{text("classify_hint")}</p>
                    <Form key={query.value.toString()} />
                </section>
                {question && <Result answer={answer} />}
            </div>
        </Page>
    );
}

function fromAddress(): Typed {
    const of = (name: string) => query.value.get(name) ?? "";
    const fields = Object.fromEntries(ASKED.map((name) => [name, of(name)])) as Record<Asked, string>;
    return { ...fields, code: of("code"), timeout: of("timeout") === "true" };
}

function Form() {
    const [typed, setTyped] = useState(fromAddress);
    const set = (changed: Partial<Typed>) => setTyped({ ...typed, ...changed });
    const submit = (event: Event) => {
        event.preventDefault();
        setQuery({ ...typed, timeout: typed.timeout || undefined });
    };
    const line = (name: Asked, label: string, hint?: string) => (
        <Field label={label} {...(hint === undefined ? {} : { hint })}>
            {(id) => <input id={id} value={typed[name]} onInput={(event) => set({ [name]: event.currentTarget.value })} />}
        </Field>
    );
    return (
        <form onSubmit={submit}>
            {line("path", text("classify_path"))}
            <div class="form-columns">
                <Field label={text("classify_method")}>
                    {(id) => (
                        <select id={id} value={typed.method} onChange={(event) => set({ method: event.currentTarget.value })}>
                            <option value="">{METHODS[0]}</option>
                            {METHODS.slice(1).map((method) => (
                                <option key={method} value={method}>
                                    {method}
                                </option>
                            ))}
                        </select>
                    )}
                </Field>
                <Field label={text("classify_status")}>
                    {(id) => <input id={id} type="number" min={100} max={599} value={typed.code} onInput={(event) => set({ code: event.currentTarget.value })} />}
                </Field>
                {line("host", text("classify_host"), text("classify_host_hint"))}
                {line("scenario", text("classify_scenario"), text("classify_scenario_hint"))}
                {line("exception", text("classify_exception"), text("classify_exception_hint"))}
                {line("message", text("classify_message"))}
            </div>
            <Field label={text("classify_body")}>
                {(id) => <textarea id={id} rows={4} value={typed.body} onInput={(event) => set({ body: event.currentTarget.value })} />}
            </Field>
            <div class="form-columns">
                {line("stepStatus", text("classify_step_status"))}
                <label class="check">
                    <input type="checkbox" checked={typed.timeout} onChange={(event) => set({ timeout: event.currentTarget.checked })} />
                    {text("classify_timeout")}
                </label>
            </div>
            <Button type="submit" kind="primary">
                {text("classify_act")}
            </Button>
        </form>
    );
}

function Result({ answer: { data, failure } }: { answer: Answered<Explanation> }) {
    return (
        <section class="panel" aria-labelledby="result" aria-live="polite">
            <header class="panel-head">
                <h2 id="result">{text("classify_result")}</h2>
            </header>
            {failure && <p class="problem">{reasonText(failure)}</p>}
            {!failure && !data && <p class="faint">{common("loading")}</p>}
            {data && !failure && <Explained explanation={data} />}
        </section>
    );
}

function Explained({ explanation }: { explanation: Explanation }) {
    const named = (value: string | null, otherwise: string) => (value === null ? <span class="faint">{otherwise}</span> : <code>{value}</code>);
    return (
        <>
            <Facts
                facts={[
                    [text("classify_rule"), named(explanation.rule, text("classify_rule_none"))],
                    [text("classify_class"), named(explanation.class, text("classify_class_none"))],
                    [text("classify_policy"), named(explanation.policy, text("classify_policy_none"))],
                ]}
            />
            {(explanation.why ?? []).length > 0 && (
                <>
                    <h3 class="spaced">{text("classify_why")}</h3>
                    <ol class="sentences">
                        {(explanation.why ?? []).map((sentence) => (
                            <li key={sentence}>
                                <Said text={sentence} />
                            </li>
                        ))}
                    </ol>
                </>
            )}
        </>
    );
}
