// Makes api.d.ts from the OpenAPI document of a service that runs, with openapi-typescript:
//
//   npm install && npm run types
//
// Setting: BASE_URL (http://127.0.0.1:8080). The second line says of which document the types are:
// a test fails when the service has another one.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The operations that send.ts calls: types of the others would change more often than it. */
const called = ['sendCard', 'listCards', 'getCard'];

/** What says nothing about types. */
const prose = new Set(['summary', 'description', 'example', 'examples']);

/** A part of a document without prose and without keywords of the service's own. */
const structureOf = (value, isNames = false) => {
  if (Array.isArray(value)) return value.map((item) => structureOf(item));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.keys(value).filter((name) => isNames || !(prose.has(name) || name.startsWith('x-')));
  return Object.fromEntries(
    kept.sort().map((name) => [name, structureOf(value[name], !isNames && name === 'properties')]),
  );
};

/** What a document says about the types of the operations that are called. */
const partOf = ({ openapi, paths, components }) => {
  const part = { openapi, info: { title: 'Cards', version: '1' }, paths: {}, components: {} };
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods))
      if (called.includes(operation.operationId)) (part.paths[path] ??= {})[method] = structureOf(operation);
  const addWhatIsNamedIn = (value) => {
    for (const [, kind, name] of JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) {
      const known = (part.components[kind] ??= {});
      if (name in known) continue;
      known[name] = structureOf(components[kind][name]);
      addWhatIsNamedIn(known[name]);
    }
  };
  addWhatIsNamedIn(part.paths);
  return part;
};

/** Tells documents apart whose types differ. */
export const digestOf = (document) =>
  createHash('sha256')
    .update(JSON.stringify(partOf(document)))
    .digest('hex');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { default: typesOf, astToString } = await import('openapi-typescript');
  const { BASE_URL = 'http://127.0.0.1:8080' } = process.env;
  const document = await (await fetch(`${BASE_URL}/api/openapi.json`)).json();
  const types = astToString(await typesOf(partOf(document)));
  writeFileSync(
    new URL('api.d.ts', import.meta.url),
    `// Made by types.mjs of the document with this digest, not edited by hand.\n// ${digestOf(document)}\n${types}`,
  );
}
