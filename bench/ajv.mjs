// Compiles every schema of a `haft export --format json-schema` file, as a Node server would at start-up.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(`${process.argv[3]}/`);
const Ajv = require("ajv/dist/2020").default;
const addFormats = require("ajv-formats").default;

const schemas = JSON.parse(readFileSync(process.argv[2], "utf8")).map((tool) => tool.parameters);
const start = process.hrtime.bigint();
const ajv = new Ajv({ allErrors: true, strict: false });
addFormats(ajv);
for (const schema of schemas) ajv.compile(schema);
console.log(Number(process.hrtime.bigint() - start) / 1e6);
