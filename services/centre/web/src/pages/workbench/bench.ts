// What stands on the workbench: the text, what the server says of it, the trials, and their outcome. It stays as long as the
// page is open, also while another page is shown.

import { computed, signal } from "@preact/signals";
import { change, Failure, json, type ApiRequest, type Schemas } from "../../api/client";
import type { Completions, Place, Remark as Mark } from "../../parts/editor";
import { reasonText } from "../../text/reason";
import { bodyRead, completedConfig, completedSecrets, factsOf, firstParams, type ScenarioFacts } from "./facts";
import { pathOf, stepsOf, type Step, type Tried } from "./story";
import { emptyTrial, toAll, toText, type Trial } from "./trial";

type Detail = Schemas["Detail"];

/** The stored version that the text was made from. */
export interface Base {
    readonly name: string;
    readonly version: number;
    readonly tag: string;
    readonly text: string;
}

export interface Checked {
    readonly busy: boolean;
    /** The text that it is about. */
    readonly text: string;
    readonly faults: readonly Detail[];
    readonly warnings: readonly Detail[];
    readonly failure?: string;
}

export interface Outcome {
    readonly busy: boolean;
    readonly tried: readonly Tried[];
    /** What all tests together reach. */
    readonly coverage?: Schemas["CoverageView"];
    readonly failure?: string;
    /** Faults of the tests themselves, as sentences. */
    readonly faults: readonly string[];
}

/** Pauses after the last key before the server is asked, in ms. */
const CHECK_AFTER = 250;
const RUN_AFTER = 350;
/** Pause before a check that got no answer is repeated, in ms. */
const CHECK_AGAIN_AFTER = 5_000;

const NO_FACTS: ScenarioFacts = { name: "", isOperation: false, states: [], params: {} };

/** Statuses by which an older server says that it does not know an operation. */
const UNKNOWN = [404, 405, 415];

export class Bench {
    readonly text = signal("");
    readonly base = signal<Base | undefined>(undefined);
    readonly checked = signal<Checked>({ busy: false, text: "", faults: [], warnings: [] });
    /** The last text without faults, and its facts. */
    readonly sound = signal("");
    readonly facts = signal<ScenarioFacts>(NO_FACTS);
    readonly trials = signal<readonly Trial[]>([]);
    readonly chosen = signal(0);
    readonly outcome = signal<Outcome>({ busy: false, tried: [], faults: [] });
    /** The recorded order that the trial was made from. */
    readonly recorded = signal<string | undefined>(undefined);

    /** Number of texts that were put on the bench: an editor that shows one of them begins again with the next. */
    readonly opened = signal(0);

    readonly trial = computed(() => this.trials.value[this.chosen.value] ?? emptyTrial(""));
    readonly tried = computed(() => this.outcome.value.tried[this.chosen.value]);
    readonly steps = computed<readonly Step[]>(() => stepsOf(this.tried.value?.story ?? []));
    /** Steps of all tests. */
    private readonly all = computed(() => this.outcome.value.tried.flatMap((tried) => stepsOf(tried.story)));
    /** States that any of the tests goes through. */
    readonly reached = computed(() => new Set(pathOf(this.all.value)));
    /** Ways that any of the tests takes, as `from event to`. */
    readonly reachedWays = computed(() => new Set(this.all.value.flatMap((step) => step.way ?? [])));
    readonly changed = computed(() => this.text.value !== (this.base.value?.text ?? this.template));

    private template = "";
    private checking: AbortController | undefined;
    private running: AbortController | undefined;
    private checkTimer = 0;
    private runTimer = 0;
    private completes = true;

    /** Puts a text on the bench that nobody has changed yet, with its trials. */
    open(text: string, base: Base | undefined, trials: readonly Trial[]): void {
        this.template = base ? "" : text;
        this.base.value = base;
        this.text.value = text;
        this.trials.value = trials;
        this.chosen.value = 0;
        this.opened.value += 1;
        this.outcome.value = { busy: false, tried: [], faults: [] };
        void this.check();
    }

    /** Takes what was typed. */
    write(text: string): void {
        if (text === this.text.value) return;
        this.text.value = text;
        window.clearTimeout(this.checkTimer);
        this.checkTimer = window.setTimeout(() => void this.check(), CHECK_AFTER);
    }

    async check(): Promise<void> {
        this.checking?.abort();
        window.clearTimeout(this.checkTimer);
        const own = (this.checking = new AbortController());
        const text = this.text.value;
        this.checked.value = { ...this.checked.value, busy: true };
        try {
            const answer = await json<Schemas["CheckedView"]>(yamlRequest("/v1/scenarios/check", text), own.signal);
            this.checked.value = { busy: false, text, faults: [], warnings: answer.warnings };
            await this.take(text);
        } catch (error) {
            if (own.signal.aborted) return;
            const faults = error instanceof Failure && error.status === 422 ? faultsOf(error) : undefined;
            if (faults) {
                this.checked.value = { busy: false, text, faults, warnings: [] };
                return;
            }
            this.checked.value = { ...this.checked.value, busy: false, failure: reasonText(error) };
            this.checkTimer = window.setTimeout(() => void this.check(), CHECK_AGAIN_AFTER);
        }
    }

    /** Takes a sound text: its graph is drawn, and it is tried. */
    private async take(text: string): Promise<void> {
        const { readYaml } = await import("./yaml-reader");
        this.facts.value = factsOf(readYaml(text));
        this.sound.value = text;
        if (this.trials.value.length === 0) this.trials.value = [firstTrial(this.facts.value, text)];
        this.trials.value = this.trials.value.map((trial) => ({
            ...trial,
            config: completedConfig(text, trial.config),
            secrets: completedSecrets(text, trial.secrets),
        }));
        this.runSoon(0);
    }

    /** Changes the chosen trial, and runs it. */
    change(changes: Partial<Trial>): void {
        this.trials.value = this.trials.value.with(this.chosen.value, { ...this.trial.value, ...changes });
        this.runSoon(RUN_AFTER);
    }

    runSoon(after: number): void {
        window.clearTimeout(this.runTimer);
        this.runTimer = window.setTimeout(() => void this.run(), after);
    }

    /** Request of the run, to be repeated elsewhere. */
    request(): ApiRequest {
        return change("POST", "/v1/scenarios/test", {}, { scenario: this.sound.value, tests: toText(this.trials.value) });
    }

    async run(): Promise<void> {
        if (this.sound.value === "") return;
        this.running?.abort();
        const own = (this.running = new AbortController());
        this.outcome.value = { ...this.outcome.value, busy: true };
        try {
            const answer = await json<Schemas["TriedView"]>(this.request(), own.signal);
            this.outcome.value = { busy: false, tried: answer.tests as Tried[], coverage: answer.coverage, faults: [] };
        } catch (error) {
            if (own.signal.aborted) return;
            const faults = error instanceof Failure && error.status === 422 ? faultsOf(error).map(sentence) : [];
            this.outcome.value = { ...this.outcome.value, busy: false, failure: reasonText(error), faults: [...new Set(faults)] };
        }
    }

    /** Completions at a place; nothing where the server has none. */
    async complete(text: string, at: Place): Promise<Completions | undefined> {
        if (!this.completes) return undefined;
        try {
            return await json<Completions>({ method: "POST", url: "/v1/scenarios/complete", body: { text, ...at } });
        } catch (error) {
            if (error instanceof Failure && UNKNOWN.includes(error.status)) this.completes = false;
            return undefined;
        }
    }
}

/** A trial in which a scenario probably goes its good way. */
function firstTrial(facts: ScenarioFacts, text: string): Trial {
    return { ...emptyTrial(facts.name), params: firstParams(text, facts), answers: toAll(bodyRead("response", text), bodyRead("callbacks", text)) };
}

/** A request that sends a text as YAML. */
export function yamlRequest(url: string, body: string): ApiRequest {
    return { method: "POST", url, body, mediaType: "application/yaml" };
}

function faultsOf(failure: Failure): Detail[] {
    const errors = failure.problem["errors"];
    return Array.isArray(errors) && errors.length > 0 ? (errors as Detail[]) : [{ pointer: "", message: failure.message }];
}

function sentence({ message, hint }: Detail): string {
    return hint ? `${message} (${hint})` : message;
}

/** Faults and warnings as marks of the editor. */
export function marksOf({ faults, warnings }: Checked): Mark[] {
    const mark = (severity: Mark["severity"]) => (one: Detail) => ({ line: one.line ?? 1, column: one.column ?? 1, message: sentence(one), severity });
    return [...faults.map(mark("error")), ...warnings.map(mark("warning"))];
}

const benches = new Map<string, Bench>();

/** The bench of a scenario, or of an order of it; empty: of a new one. What was written on it is still there. */
export function benchOf(key: string): { bench: Bench; isNew: boolean } {
    const known = benches.get(key);
    if (known) return { bench: known, isNew: known.opened.peek() === 0 };
    const bench = new Bench();
    benches.set(key, bench);
    return { bench, isNew: true };
}

/** Whether a text on any bench would be lost with the page. */
export function anyChanged(): boolean {
    return [...benches.values()].some((bench) => bench.changed.value);
}
