// The build of the documentation: what it makes of pages, and what it refuses.

import assert from "node:assert/strict";
import { test } from "node:test";
import { site } from "./make.mjs";
import { nameOf } from "./repository.mjs";

const ASSETS = { script: "browser.js", theme: "theme.js", style: "style.css" };
const BOOK = "# Documentation\n\n## Start\n\n- [One](one.md): the first.\n\n## Operate\n\n### Watch\n\n- [Two](guides/two.md)\n";

/** A checkout that is a table of texts. */
function checkout(files) {
    const paths = Object.keys(files);
    return {
        text: (path) => files[path],
        bytes: (path) => Buffer.from(files[path]),
        kind: (path) => (path in files ? "file" : paths.some((one) => one.startsWith(`${path}/`)) ? "folder" : undefined),
        isText: (path) => !path.endsWith(".bin"),
        names: (folder) => [...new Set(paths.filter((one) => one.startsWith(`${folder}/`)).map((one) => one.slice(folder.length + 1).replace(/\/.*/, "/")))].sort(),
        pages: (folder) => paths.filter((one) => one.startsWith(`${folder}/`) && one.endsWith(".md")),
    };
}

function built(more = {}) {
    return site(checkout({ "docs/README.md": BOOK, "docs/one.md": "# One\n\nText.\n", "docs/guides/two.md": "# Two\n", ...more }), ASSETS);
}

function faultsOf(one) {
    return built({ "docs/one.md": `# One\n\n${one}\n` }).faults;
}

test("qlt_11 a sound book has no faults and a page for each text", () => {
    const { files, faults } = built();
    assert.deepEqual(faults, []);
    assert.deepEqual([...files.keys()].filter((name) => name.endsWith(".html")), ["index.html", "one.html", "guides-two.html", "404.html"]);
    const one = files.get("one.html");
    assert.match(one, /<h1 id="one">One<\/h1>/);
    assert.match(one, /<a href="one.html" aria-current="page">One<\/a>/);
    assert.match(one, /class="after" href="guides-two.html"/, "the next page is the next of the lists");
    assert.match(files.get("guides-two.html"), /<p class="group">Operate<\/p>/);
});

test("qlt_11 a link to nothing, or out of the repository, is a fault with its line", () => {
    assert.deepEqual(faultsOf("See [it](three.md)."), ["docs/one.md:3: the link `three.md` leads to no file of the repository"]);
    assert.match(faultsOf("[out](../../etc/passwd)")[0], /leads to no file/);
    assert.match(faultsOf("![a picture](pictures/none.svg)")[0], /is no file of the repository/);
});

test("qlt_11 an anchor that is not there is a fault, on this page and on others", () => {
    assert.deepEqual(faultsOf("[two](guides/two.md#three)"), ["docs/one.md:3: `guides/two.md#three`: docs/guides/two.md has no heading `#three`"]);
    assert.match(faultsOf("[here](#nowhere)")[0], /docs\/one.md has no heading `#nowhere`/);
    assert.deepEqual(faultsOf("## A `key.b`, twice?\n\n## A `key.b`, twice?\n\n[a](#a-keyb-twice) [b](#a-keyb-twice-1) [c](guides/two.md#two)"), []);
});

test("qlt_11 a page that no list names is a fault, but for those that the README of their folder names", () => {
    assert.match(built({ "docs/three.md": "# Three\n" }).faults[0], /^docs\/three.md: no list of docs\/README.md names this page/);
    const below = { "docs/README.md": `${BOOK}- [Records](adr/README.md)\n`, "docs/adr/README.md": "# Records\n\n| a |\n|---|\n| [1](0001.md) |\n", "docs/adr/0001.md": "# 1\n" };
    assert.deepEqual(built(below).faults, []);
    assert.deepEqual(built({ "docs/README.md": `${BOOK}- [Again](one.md)\n` }).faults, ["docs/README.md: docs/one.md is listed twice"]);
});

test("qlt_11 files and folders of the repository have a page when they are linked, and nothing in them is taken for HTML", () => {
    const { files, faults } = built({ "docs/one.md": "# One\n\n[a](../examples) [b](../x.bin) [c](openapi.json)\n", "examples/a.yaml": 'a: "<b>"\n', "x.bin": "x" });
    assert.deepEqual(faults, []);
    assert.match(files.get("folder-examples.html"), /href="file-examples-a.yaml.html"/);
    assert.match(files.get("file-examples-a.yaml.html"), /&lt;b&gt;/);
    assert.match(files.get("file-x.bin.html"), /is not shown here/);
    assert.match(files.get("one.html"), /href="..\/..\/openapi.json"/, "the engine serves its description itself");
});

test("qlt_11 HTML, diagrams that a script draws, pictures without words and pages without a title are refused; comments are left out", () => {
    assert.match(faultsOf("<details>x</details>")[0], /only Markdown/);
    assert.match(faultsOf("a <b>c</b>")[0], /only Markdown/);
    assert.match(faultsOf("```mermaid\ngraph\n```")[0], /has to be a picture/);
    assert.match(faultsOf("![](one.md)")[0], /no text for those who do not see it/);
    assert.match(built({ "docs/one.md": "Text.\n" }).faults[0], /needs a title/);
    const { files, faults } = built({ "docs/one.md": "# One\n\n<!-- of a tool -->\n" });
    assert.deepEqual(faults, []);
    assert.doesNotMatch(files.get("one.html"), /of a tool/);
});

test("qlt_11 two files never share a name", () => {
    assert.equal(nameOf("docs/errors/README.md"), "errors.html");
    assert.equal(nameOf("SECURITY.md"), "repository-security.html");
    const same = { "docs/README.md": `${BOOK}- [Three](guides-two.md)\n`, "docs/guides-two.md": "# Three\n" };
    assert.match(built(same).faults[0], /another page is called guides-two.html, too/);
});

test("qlt_11 no page has a script or a style of its own, and sessions show what is typed", () => {
    const { files } = built({ "docs/one.md": "# One\n\n```console\n$ pagurus order get 1\nid  1\n```\n\n```yaml\na: 1\n```\n" });
    for (const [name, text] of files) if (name.endsWith(".html")) assert.doesNotMatch(text, / style=|<style|<script>|javascript:|onclick/, name);
    assert.match(files.get("one.html"), /<span class="typed">pagurus order get 1<\/span>\n<span class="out">id {2}1<\/span>/);
});
