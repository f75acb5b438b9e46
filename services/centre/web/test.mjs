// Runs the unit tests of the pages and of the build of the documentation: bundles each `*.test.ts`, and hands the bundles to
// node's own runner.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const sources = readdirSync(join(here, "src"), { recursive: true })
    .filter((path) => path.endsWith(".test.ts"))
    .map((path) => join(here, "src", path));
const made = mkdtempSync(join(tmpdir(), "centre-"));
try {
    await build({
        entryPoints: sources,
        outdir: made,
        outExtension: { ".js": ".mjs" },
        bundle: true,
        format: "esm",
        platform: "node",
        target: ["node18"],
        logLevel: "warning",
    });
    const files = readdirSync(made, { recursive: true }).filter((path) => path.endsWith(".mjs"));
    const all = [...files.map((path) => join(made, path)), join(here, "site/src/make.test.mjs")];
    const run = spawnSync(process.execPath, ["--test", ...all], { stdio: "inherit" });
    process.exitCode = run.status ?? 1;
} finally {
    rmSync(made, { recursive: true, force: true });
}
