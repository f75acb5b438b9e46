import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { Failure, type Read } from "./client";
import { freshness, Resource } from "./resource";

const failure = new Failure(0, { detail: "away" });

test("data is waited for, fresh, old or failed", () => {
    assert.equal(freshness({ data: undefined, at: undefined, failure: undefined }, 5_000, 0), "waiting");
    assert.equal(freshness({ data: undefined, at: undefined, failure }, 5_000, 0), "failed");
    assert.equal(freshness({ data: 1, at: 1_000, failure: undefined }, 5_000, 1_000), "fresh");
    assert.equal(freshness({ data: 1, at: 1_000, failure }, 5_000, 1_000), "old");
});

test("data counts as old once the next answer is late", () => {
    const known = { data: 1, at: 1_000, failure: undefined };
    assert.equal(freshness(known, 5_000, 11_000), "fresh");
    assert.equal(freshness(known, 5_000, 11_001), "old");
    assert.equal(freshness(known, 0, 1_000_000), "fresh");
});

const network = globalThis.fetch;
afterEach(() => {
    globalThis.fetch = network;
});

const request: Read<{ n: number }> = { method: "GET", url: "/v1/x" };

test("a failure keeps the last good answer and its time, and the next one is fresh again", async () => {
    const resource = new Resource(request);
    globalThis.fetch = () => Promise.resolve(Response.json({ n: 1 }));
    await resource.ask();
    const { at } = resource.known.value;
    globalThis.fetch = () => Promise.reject(new TypeError("away"));
    await resource.ask();
    assert.deepEqual([resource.known.value.data, resource.known.value.at, resource.known.value.failure?.status], [{ n: 1 }, at, 0]);
    globalThis.fetch = () => Promise.resolve(Response.json({ n: 2 }));
    await resource.ask();
    assert.deepEqual([resource.known.value.data, resource.known.value.failure], [{ n: 2 }, undefined]);
});

test("while one request is under way, all further ones are one", async () => {
    const answers: ((response: Response) => void)[] = [];
    globalThis.fetch = () => new Promise((resolve) => answers.push(resolve));
    const resource = new Resource(request);
    const first = resource.ask();
    await Promise.all([resource.ask(), resource.ask()]);
    assert.equal(answers.length, 1);
    answers[0]?.(Response.json({ n: 1 }));
    while (answers.length < 2) await new Promise((resolve) => setImmediate(resolve));
    answers[1]?.(Response.json({ n: 2 }));
    await first;
    assert.deepEqual([answers.length, resource.known.value.data], [2, { n: 2 }]);
});

test("ui_2 an event shows at once, over what is known and over an answer that was asked for before it", async () => {
    const answers: ((response: Response) => void)[] = [];
    globalThis.fetch = () => new Promise((resolve) => answers.push(resolve));
    const amend = (data: { n: number }, event: { status: string }) => ({ n: Number(event.status) });
    const resource = new Resource(request, undefined, amend);
    const event = (n: number) => ({ order: "o", at: "2026-11-29T00:00:00Z", status: String(n) });
    const asking = async (during: () => void) => {
        const asked = resource.ask();
        during();
        answers.pop()?.(Response.json({ n: 1 }));
        await asked;
        return resource.known.value.data?.n;
    };
    resource.hear(event(7));
    assert.equal(resource.known.value.data, undefined, "there is nothing yet that it could be said of");
    assert.equal(await asking(() => undefined), 1);
    const { at } = resource.known.value;
    resource.hear(event(2));
    assert.deepEqual([resource.known.value.data, resource.known.value.at], [{ n: 2 }, at], "an event is no answer");
    assert.equal(await asking(() => resource.hear(event(3))), 3);
    assert.equal(await asking(() => undefined), 1, "an answer that was asked for after it counts");
});

/** Orders whose changes are counted: a row for each, with the number of its last change. */
type Counted = Readonly<Record<string, number>>;

test("ui_2 whatever the order of changes, events and answers, nothing that was shown is unseen, and in the end all is shown", async () => {
    let seed = 7;
    const dice = (sides: number) => (seed = (seed * 48_271) % 2_147_483_647) % sides;
    const amend = (data: Counted, { order, status }: { order: string; status: string }) =>
        Number(status) > (data[order] ?? 0) ? { ...data, [order]: Number(status) } : data;
    for (let run = 0; run < 200; run++) {
        const stored: Record<string, number> = { a: 0, b: 0, c: 0 };
        const answers: (() => void)[] = [];
        // An answer is what was stored when it was asked for.
        globalThis.fetch = () => {
            const body = { ...stored };
            return new Promise((resolve) => answers.push(() => resolve(Response.json(body))));
        };
        const resource = new Resource<Counted>({ method: "GET", url: "/v1/x" }, undefined, amend);
        const unheard: { order: string; at: string; status: string }[] = [];
        const steps = [
            () => {
                const order = "abc"[dice(3)] ?? "a";
                stored[order] = (stored[order] ?? 0) + 1;
                unheard.push({ order, at: "", status: String(stored[order]) });
            },
            () => {
                const event = unheard.shift();
                if (!event) return;
                resource.hear(event);
                void resource.ask();
            },
            () => answers.shift()?.(),
        ];
        let before: Counted = {};
        const look = async () => {
            await new Promise((resolve) => setImmediate(resolve));
            const shown = resource.known.value.data ?? before;
            for (const [order, count] of Object.entries(before)) assert.ok((shown[order] ?? 0) >= count, `run ${run}: ${order}`);
            before = shown;
        };
        void resource.ask();
        for (let step = 0; step < 40; step++) {
            steps[dice(steps.length)]?.();
            await look();
        }
        while (unheard.length > 0) steps[1]?.();
        while (answers.length > 0) {
            steps[2]?.();
            await look();
        }
        assert.deepEqual(before, stored, `run ${run}`);
    }
});

test("a resource that is stopped says nothing more", async () => {
    globalThis.fetch = (_, init) =>
        new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError"))));
    const resource = new Resource(request);
    const asking = resource.ask();
    resource.stop();
    await asking;
    assert.deepEqual(resource.known.value, { data: undefined, at: undefined, failure: undefined });
});
