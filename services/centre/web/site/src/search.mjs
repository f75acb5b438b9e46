// The index of the search: made by the build, read by the browser. Both must agree on how words are found, so it stands here once.

import MiniSearch from "minisearch";

/** Characters of a section that a result shows. */
const SHOWN = 150;

export const OPTIONS = {
    fields: ["page", "heading", "text"],
    storeFields: ["page", "heading", "group", "address", "start"],
    // Names such as `node.max_connections` are found by themselves and by their parts.
    tokenize: (text) => {
        const words = text.split(/[\s"'`()[\]{},;:!?<>|=*…]+/u).map((word) => word.replaceAll(/^[./-]+|[./-]+$/gu, ""));
        return words.flatMap((word) => (/[._/-]/u.test(word) ? [word, ...word.split(/[._/-]+/u)] : [word])).filter((word) => word !== "");
    },
};

/** Weights of groups and pages that few readers look for. */
const WEIGHTS = { Understand: 0.6, Changelog: 0.25, "Report of the laboratory": 0.3 };

/** @type {import("minisearch").SearchOptions} */
export const ASKED = {
    combineWith: "AND",
    prefix: true,
    fuzzy: (word) => (word.length > 4 ? 0.15 : false),
    boost: { page: 4, heading: 3 },
    boostDocument: (_id, _word, stored) => WEIGHTS[stored?.page] ?? WEIGHTS[stored?.group] ?? (stored?.group ? 1 : 0.4),
};

/** The index of all sections, as JSON. */
export function indexOf(pages) {
    const index = new MiniSearch(OPTIONS);
    let id = 0;
    for (const { title, group, name, sections } of pages) {
        for (const { anchor, heading, text } of sections) {
            const words = text.join(" ").replaceAll(/\s+/g, " ").trim();
            if (words === "" && heading === "") continue;
            const start = words.length > SHOWN ? `${words.slice(0, SHOWN).replace(/\s\S*$/, "")} …` : words;
            index.add({ id: id++, page: title, heading, group, address: anchor ? `${name}#${anchor}` : name, start, text: words });
        }
    }
    return JSON.stringify(index);
}
