// What the bundle does beyond esbuild: each language of a dictionary, and each style sheet of a module, becomes a file that is
// loaded when it is needed.

import { readFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { build } from "esbuild";

/** Files of dictionaries; `index.ts` beside them has what reads them. */
const DICTIONARY = /\/src\/text\/[^/]+\.ts$/;
const LANGUAGES = ["en", "ru"];

/** Puts `loaded({en: () => import(…), ru: …})` in the place of each `dictionary({…}, {…})`. */
export const dictionaries = {
    name: "dictionaries",
    setup({ onLoad, onResolve }) {
        const words = new Map();
        onLoad({ filter: DICTIONARY }, async ({ path }) => {
            const text = await readFile(path, "utf8");
            if (!/^export const \w+ = dictionary\(/m.test(text)) return undefined;
            const name = basename(path, ".ts");
            const exported = Object.entries(await exportsOf(path));
            const lines = exported.map(([key, both]) => {
                const files = LANGUAGES.map((language) => {
                    if (both?.[language] === undefined) throw new Error(`${path}: ${key} is no dictionary, and stands beside one`);
                    const file = `${exported.length === 1 ? name : `${name}-${key}`}-${language}`;
                    words.set(file, both[language]);
                    return `${language}: () => import("words:${file}")`;
                });
                return `export const ${key} = loaded({ ${files.join(", ")} });`;
            });
            return { contents: `import { loaded } from ".";\n${lines.join("\n")}\n`, loader: "ts", resolveDir: dirname(path) };
        });
        onResolve({ filter: /^words:/ }, ({ path }) => ({ path: path.slice("words:".length), namespace: "words" }));
        onLoad({ filter: /.*/, namespace: "words" }, ({ path }) => ({ contents: `export default ${JSON.stringify(words.get(path))};`, loader: "js" }));
    },
};

/** What a file of dictionaries exports, as data. */
async function exportsOf(path) {
    const stub = {
        name: "stub",
        setup({ onResolve, onLoad }) {
            onResolve({ filter: /^\.$/ }, () => ({ path: "stub", namespace: "stub" }));
            onLoad({ filter: /.*/, namespace: "stub" }, () => ({ contents: "export const dictionary = (en, ru) => ({ en, ru });" }));
        },
    };
    const { outputFiles } = await build({ entryPoints: [path], bundle: true, write: false, format: "esm", charset: "utf8", plugins: [stub] });
    return { ...(await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`)) };
}

/** Makes a file of a style sheet that a module imports, which `needSheet` loads before the module is shown. */
export const sheets = {
    name: "sheets",
    setup({ initialOptions, onLoad, onResolve }) {
        const needs = resolve(initialOptions.absWorkingDir, "src/app/needs.ts");
        onResolve({ filter: /\.css$/ }, ({ path, kind, resolveDir, namespace }) => {
            if (namespace === "sheet") return { path, namespace: "sheet-file" };
            return kind === "import-statement" ? { path: resolve(resolveDir, path), namespace: "sheet" } : undefined;
        });
        onLoad({ filter: /.*/, namespace: "sheet" }, ({ path }) => ({
            contents: `import { needSheet } from ${JSON.stringify(needs)};\nimport address from ${JSON.stringify(path)};\nneedSheet(address);\n`,
            resolveDir: dirname(path),
            watchFiles: [path],
        }));
        onLoad({ filter: /.*/, namespace: "sheet-file" }, async ({ path }) => {
            const { outputFiles } = await build({ entryPoints: [path], bundle: true, write: false, minify: true, target: initialOptions.target });
            return { contents: outputFiles[0].contents, loader: "file" };
        });
    },
};
