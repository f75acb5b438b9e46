// Builds the package into dist/: types from the OpenAPI document of the engine, then the newest compiler of TypeScript.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import openapiTS, { astToString } from "openapi-typescript";

// The schemas that src/model.ts names; those that they name come with them.
const WANTED = ["CallView", "Detail", "OrderBody", "OrderLine", "OrderView", "Problem", "RegisteredView", "StatusView", "UpdateBody"];

const place = process.env.PAGURUS_OPENAPI ?? new URL("../../docs/openapi.json", import.meta.url);
const document = JSON.parse(readFileSync(place, "utf8"));
const schemas = {};
const take = (name) => {
  if (name in schemas) return;
  schemas[name] = document.components.schemas[name];
  const named = JSON.stringify(schemas[name]).matchAll(/"#\/components\/schemas\/(\w+)"/g);
  for (const [, other] of named) take(other);
};
WANTED.forEach(take);
const small = { openapi: document.openapi, info: document.info, paths: {}, components: { schemas } };
const types = astToString(await openapiTS(small));
writeFileSync(new URL("src/schema.ts", import.meta.url), `// Made by build.mjs from the OpenAPI document.\n${types}`);

const require = createRequire(import.meta.url);
const compiler = require.resolve("typescript-newest/package.json").replace("package.json", "bin/tsc");
const folder = new URL(".", import.meta.url);
process.exitCode = spawnSync(process.execPath, [compiler, "-p", "."], { cwd: folder, stdio: "inherit" }).status ?? 1;
