// Builds the package into dist/: types from the OpenAPI and AsyncAPI documents of the engine, then the newest compiler of TypeScript.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

// The schemas that src/model.ts names; those that they name come with them.
const WANTED = ["CallView", "Detail", "OrderBody", "OrderLine", "OrderView", "Problem", "RegisteredView", "StatusView", "UpdateBody"];

// Those of messages, likewise.
const WANTED_MESSAGES = ["ActorTask", "EndNotice", "MoveNotice", "Receipt"];

const folder = new URL(".", import.meta.url);
const docs = process.env.PAGURUS_DOCS ?? fileURLToPath(new URL("../../docs", folder));
const [document, messages] = ["openapi.json", "asyncapi.json"].map((name) => JSON.parse(readFileSync(join(docs, name), "utf8")));
const known = { ...messages.components.schemas, ...document.components.schemas };
const schemas = {};
const take = (name) => {
  if (name in schemas) return;
  schemas[name] = known[name];
  const named = JSON.stringify(schemas[name]).matchAll(/"#\/components\/schemas\/(\w+)"/g);
  for (const [, other] of named) take(other);
};
[...WANTED, ...WANTED_MESSAGES].forEach(take);
const small = { openapi: document.openapi, info: document.info, paths: {}, components: { schemas } };
const types = astToString(await openapiTS(small));
writeFileSync(new URL("src/schema.ts", folder), `// Made by build.mjs from the OpenAPI and AsyncAPI documents.\n${types}`);

const require = createRequire(import.meta.url);
const compiler = require.resolve("typescript-newest/package.json").replace("package.json", "bin/tsc");
// What browsers load is compiled without the types of Node, the rest with them.
for (const project of [".", "src/amqp"]) {
  const { status } = spawnSync(process.execPath, [compiler, "-p", project], { cwd: folder, stdio: "inherit" });
  process.exitCode ||= status ?? 1;
}
