// The files of the checkout, as the site reads them: paths are written from the root, with `/`.

import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join, posix } from "node:path";

/** Folders and files that are no part of what people read. */
const FOREIGN = /^(\..*|target|node_modules|dist|package-lock\.json|Cargo\.lock)$/;

/** Endings of files that a page can show as text. */
const TEXT = /\.(md|ya?ml|json|sql|toml|conf|sh|py|rs|ts|mjs|js|txt|service|target|xml)$|(^|\/)(Dockerfile|LICENSE|dev|control)$/;

/** Reads the files below a root. */
export function repository(root) {
    const full = (path) => join(root, path);
    return {
        /** The text of a file. */
        text: (path) => readFileSync(full(path), "utf8"),
        bytes: (path) => readFileSync(full(path)),
        /** `file`, `folder`, or nothing where there is neither. */
        kind(path) {
            if (!existsSync(full(path))) return undefined;
            return statSync(full(path)).isDirectory() ? "folder" : "file";
        },
        isText: (path) => TEXT.test(path),
        /** Names in a folder, in order; folders end with `/`. */
        names(path) {
            const entries = readdirSync(full(path), { withFileTypes: true }).filter((entry) => !FOREIGN.test(entry.name));
            return entries.map((entry) => entry.name + (entry.isDirectory() ? "/" : "")).sort();
        },
        /** Every Markdown file below a folder. */
        pages(folder) {
            const all = readdirSync(full(folder), { recursive: true }).map((path) => posix.join(folder, path.replaceAll("\\", "/")));
            return all.filter((path) => path.endsWith(".md")).sort();
        },
    };
}

/** The path that a link of a file leads to; nothing where it leads out of the checkout. */
export function resolved(from, link) {
    const path = posix.normalize(posix.join(posix.dirname(from), link)).replace(/\/$/, "");
    return path.startsWith("..") ? undefined : path;
}

/** Name of the page of a file or a folder. All pages stand in one folder, so that links among them are names. A `README.md` is its folder. */
export function nameOf(path, kind = "file") {
    const isPage = path.endsWith(".md");
    if (path === "docs/README.md") return "index.html";
    const inside = path.startsWith("docs/") ? path.slice("docs/".length) : isPage ? `repository/${path}` : path;
    const words = isPage ? inside.replace(/\/README\.md$|\.md$/, "") : `${kind}/${inside}`;
    return `${words.toLowerCase().replaceAll(/[^a-z0-9._]+/g, "-")}.html`;
}
