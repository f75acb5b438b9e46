import assert from "node:assert/strict";
import { test } from "node:test";
import { ready } from "../app/needs";
import { dictionary, filled, language, loaded, speak, type Message } from ".";

function inRussian(message: Message, n: number): string {
    return filled(message, { n }, new Intl.PluralRules("ru"), new Intl.NumberFormat("ru"));
}

test("Russian forms follow the last digits of a number", () => {
    const message: Message = { one: "{n} заявка", few: "{n} заявки", many: "{n} заявок", other: "{n} заявки" };
    const expected: [number, string][] = [
        [0, "0 заявок"],
        [1, "1 заявка"],
        [2, "2 заявки"],
        [4, "4 заявки"],
        [5, "5 заявок"],
        [11, "11 заявок"],
        [12, "12 заявок"],
        [21, "21 заявка"],
        [22, "22 заявки"],
        [111, "111 заявок"],
        [1.5, "1,5 заявки"],
    ];
    for (const [n, text] of expected) assert.equal(inRussian(message, n), text);
});

test("a form that a message lacks is its other one", () => {
    assert.equal(inRussian({ one: "{n} д", other: "{n} дн" }, 5), "5 дн");
    assert.equal(inRussian({ one: "{n} д", other: "{n} дн" }, 2), "2 дн");
});

test("a dictionary speaks the language of the page, with its numbers", () => {
    const text = dictionary(
        { orders: { one: "{n} order", other: "{n} orders" }, by: "{who} did it" },
        { orders: { one: "{n} заявка", few: "{n} заявки", many: "{n} заявок", other: "{n} заявки" }, by: "сделал {who}" },
    );
    language.value = "en";
    assert.deepEqual([text("orders", { n: 1 }), text("orders", { n: 0 }), text("orders", { n: 12_345 })], ["1 order", "0 orders", "12,345 orders"]);
    language.value = "ru";
    assert.deepEqual([text("orders", { n: 1 }), text("orders", { n: 12_345 })], ["1 заявка", "12\u00a0345 заявок"]);
    assert.equal(text("by", { who: "anna" }), "сделал anna");
    language.value = "en";
});

test("a value that is missing leaves nothing, and one is not filled in twice", () => {
    const [rules, numbers] = [new Intl.PluralRules("en"), new Intl.NumberFormat("en")];
    assert.equal(filled("a {b} c", {}, rules, numbers), "a  c");
    assert.equal(filled("{a} {b}", { a: "{b}", b: "x" }, rules, numbers), "{b} x");
});

test("a dictionary of the bundle loads a language when it is spoken, and the page speaks it once all words are there", async () => {
    const asked: string[] = [];
    const file = (name: string, title: string) => () => {
        asked.push(name);
        return Promise.resolve({ default: { title } });
    };
    language.value = "en";
    const text = loaded({ en: file("en", "Flows"), ru: file("ru", "Потоки") });
    assert.equal(text("title"), "", "no word is shown before it is there");
    await ready();
    assert.deepEqual([text("title"), asked], ["Flows", ["en"]]);
    const change = speak("ru");
    assert.equal(text("title"), "Flows");
    await change;
    assert.equal(text("title"), "Потоки");
    await speak("en");
    assert.deepEqual(asked, ["en", "ru"]);
});

test("a language that cannot be loaded is not spoken", async () => {
    language.value = "en";
    const text = loaded({ en: () => Promise.resolve({ default: { title: "Flows" } }), ru: () => Promise.reject(new Error("away")) });
    await ready();
    await assert.rejects(speak("ru"), /away/);
    assert.equal(text("title"), "Flows");
});
