// Bundles the pages into dist/: files named by their contents, each beside its gzip form, and the one HTML shell.

import { readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { dictionaries, sheets } from "./plugins.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const made = join(here, `dist.${process.pid}`);
const dist = join(here, "dist");

const result = await build({
    absWorkingDir: here,
    entryPoints: { main: "src/main.tsx", style: "src/style/index.css" },
    outdir: made,
    bundle: true,
    format: "esm",
    splitting: true,
    minify: true,
    target: ["es2022"],
    jsx: "automatic",
    jsxImportSource: "preact",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    publicPath: "/assets/",
    plugins: [dictionaries, sheets],
    metafile: true,
    legalComments: "none",
    charset: "utf8",
    logLevel: "warning",
});

const outputs = Object.entries(result.metafile.outputs);
const nameOf = (path) => path.split("/").at(-1);
const entry = (source) => nameOf(outputs.find(([, output]) => output.entryPoint === source)[0]);
const main = outputs.find(([, output]) => output.entryPoint === "src/main.tsx")[1];
const preloads = main.imports
    .filter((one) => one.kind === "import-statement")
    .map((one) => `<link rel="modulepreload" href="/assets/${nameOf(one.path)}">`);

const shell = readFileSync(join(here, "src/index.html"), "utf8")
    .replace("{style}", entry("src/style/index.css"))
    .replace("{main}", entry("src/main.tsx"))
    .replace("{preloads}", preloads.join(""));
writeFileSync(join(made, "index.html"), shell);
for (const name of readdirSync(made)) {
    writeFileSync(join(made, `${name}.gz`), gzipSync(readFileSync(join(made, name)), { level: 9 }));
}
// The folder is exchanged as a whole: a server that reads from it never sees half of a build.
rmSync(dist, { recursive: true, force: true });
renameSync(made, dist);

if (process.argv.includes("--sizes")) {
    for (const [path] of outputs) {
        const size = gzipSync(readFileSync(join(dist, nameOf(path)))).length;
        console.log(`${(size / 1024).toFixed(1).padStart(7)} KiB gz  ${nameOf(path)}`);
    }
}
