// Makes api.d.ts from the OpenAPI document of a service that runs, with openapi-typescript:
//
//   npm install && npm run types
//
// Setting: BASE_URL (http://127.0.0.1:8080). The second line says of which document the types are:
// a test fails when the service has another one.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What says nothing about types. */
const prose = new Set(['info', 'servers', 'tags', 'summary', 'description', 'example', 'examples']);

/** A document without prose and without the service's own keywords; `inside` an object of names. */
const structureOf = (value, inside = false) => {
  if (Array.isArray(value)) return value.map((item) => structureOf(item));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.keys(value).filter((name) => inside || !(prose.has(name) || name.startsWith('x-')));
  return Object.fromEntries(
    kept.sort().map((name) => [name, structureOf(value[name], !inside && name === 'properties')]),
  );
};

/** Tells documents apart whose types differ. */
export const digestOf = (document) =>
  createHash('sha256')
    .update(JSON.stringify(structureOf(document)))
    .digest('hex');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { default: typesOf, astToString } = await import('openapi-typescript');
  const { BASE_URL = 'http://127.0.0.1:8080' } = process.env;
  const document = await (await fetch(`${BASE_URL}/api/openapi.json`)).json();
  // A field with a default may be left out. Prose would be comments, some with the address of this service.
  const options = { defaultNonNullable: false };
  const types = astToString(await typesOf(structureOf(document), options));
  writeFileSync(
    new URL('api.d.ts', import.meta.url),
    `// Made by types.mjs of the document with this digest, not edited by hand.\n// ${digestOf(document)}\n${types}`,
  );
}
