// Builds the documentation into site/dist: pages, and scripts, styles and pictures that are named by their contents; texts each
// beside its gzip form. A broken link, a missing anchor, or a page that no list names ends it.

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { site } from "./src/make.mjs";
import { repository } from "./src/repository.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../../../..");
const made = join(here, `dist.${process.pid}`);
const dist = join(here, "dist");

mkdirSync(made);
try {
    const files = site(repository(root), await bundled());
    if (files.faults.length > 0) throw new Error(`the documentation has ${files.faults.length} faults:\n  ${files.faults.join("\n  ")}`);
    for (const [name, contents] of files.files) writeFileSync(join(made, name), contents);
    for (const name of readdirSync(made).filter((name) => !name.endsWith(".png"))) {
        writeFileSync(join(made, `${name}.gz`), gzipSync(readFileSync(join(made, name)), { level: 9 }));
    }
    // The folder is exchanged as a whole: a server that reads from it never sees half of a build.
    rmSync(dist, { recursive: true, force: true });
    renameSync(made, dist);
    const size = (name) => `${Math.ceil(readFileSync(join(dist, name)).length / 1024)} KiB`;
    console.log(`${files.pages} pages; the index of the search has ${size(`${files.index}.gz`)} (${size(files.index)} unpacked)`);
} catch (error) {
    console.error(error.message);
    process.exitCode = 1;
} finally {
    rmSync(made, { recursive: true, force: true });
}

/** Bundles script and style, and gives their names. */
async function bundled() {
    const entries = { script: "site/src/browser.ts", theme: "site/src/theme.ts", style: "site/src/style.css" };
    const { metafile } = await build({
        absWorkingDir: join(here, ".."),
        entryPoints: Object.values(entries),
        outdir: made,
        outbase: "site/src",
        bundle: true,
        minify: true,
        target: ["es2022"],
        entryNames: "[name]-[hash]",
        metafile: true,
        legalComments: "none",
        logLevel: "warning",
        format: "iife",
    });
    const outputs = Object.entries(metafile.outputs);
    const nameOf = (source) => outputs.find(([, output]) => output.entryPoint === source)[0].split("/").at(-1);
    return Object.fromEntries(Object.entries(entries).map(([key, source]) => [key, nameOf(source)]));
}
