import { expect } from 'chai';
import type { z } from 'zod';
import { jsonSchemaOf, type JsonSchema } from '../../adapters/http/schema/json-schema.js';
import { parseValues } from '../../adapters/http/schema/read.js';
import { capture } from '../../domain/errors.js';
import { operationsOf, readDocument } from '../support/http/document.js';
import { exampleFor, routes } from '../support/http/operations.js';
import { startTestService } from '../support/http/service.js';

/** What a client sends in one place, as it is declared. */
interface Sent {
  readonly at: string;
  readonly schema: z.ZodObject;
}

/** A hook's payload is read as the fields of a card. */
const sent: readonly Sent[] = routes.flatMap(({ params, query, body, access, id }) => [
  { at: `${id} params`, schema: params },
  { at: `${id} query`, schema: query },
  ...(body === null || access.kind === 'hook' ? [] : [{ at: `${id} body`, schema: body.schema }]),
]);

/** A field by its path, and how to send a value for it with everything else as it should be. */
interface Leaf {
  readonly name: string;
  readonly at: string;
  readonly schema: JsonSchema;
  readonly refusal: (value: unknown) => string | null;
}

type Path = readonly string[];

const leavesOf = (schema: JsonSchema, path: Path = []): readonly (readonly [Path, JsonSchema])[] =>
  schema.properties === undefined
    ? [[path, schema]]
    : Object.entries(schema.properties).flatMap(([name, inside]) => leavesOf(inside, [...path, name]));

const withValue = (body: unknown, [name, ...rest]: Path, value: unknown): unknown =>
  name === undefined
    ? value
    : { ...(body as object), [name]: withValue((body as Record<string, unknown>)[name], rest, value) };

const leaves: readonly Leaf[] = sent.flatMap(({ at, schema }) => {
  const documented = jsonSchemaOf(schema);
  if (Object.keys(documented.properties ?? {}).length === 0) return [];
  const good = exampleFor(documented);
  return leavesOf(documented).map(([path, leaf]) => ({
    name: path.at(-1) ?? '',
    at: `${at}: ${path.join('.')}`,
    schema: leaf,
    refusal: (value) => {
      const read = capture(() =>
        parseValues(schema, withValue(good, path, value) as Record<string, unknown>),
      );
      return 'refusal' in read && read.refusal.param === path.join('.') ? read.refusal.message : null;
    },
  }));
});

/** Fields that accept only fixed forms: any other text is refused for its form, not for its length. */
const fixedForms = new Set([
  'state', 'zip', 'country', 'arrive_on', 'birthday', 'work_anniversary',
]); // prettier-ignore

const url = 'https://example.com/';
/** A text with the given number of characters that the field accepts. */
const textOf = (name: string, length: number): string => {
  if (name === 'url') return url.padEnd(length, 'a');
  return name === 'email' ? '@example.com'.padStart(length, 'a') : 'a'.repeat(length);
};

/** Longer than any limit of ours, and far shorter than the largest body. */
const long = 20_000;

describe('the limits of requests', () => {
  it('cover every operation of the document', async () => {
    const service = await startTestService();
    const documented = operationsOf(await readDocument(service.baseUrl)).filter(
      ({ tags }) => !tags.includes('health'),
    );
    await service.stop();
    expect(routes.map(({ id }) => id)).to.have.members(documented.map(({ operationId }) => operationId));
  });

  it('are tried in requests that are otherwise accepted', () => {
    for (const { at, schema } of sent)
      expect(
        capture(() => parseValues(schema, exampleFor(jsonSchemaOf(schema)))),
        at,
      ).to.have.property('value');
  });

  const texts = leaves.filter(
    ({ schema, name }) => schema.type === 'string' && schema.enum === undefined && !fixedForms.has(name),
  );
  for (const { at, name, schema, refusal } of texts.filter(
    ({ schema: { maxLength } }) => maxLength !== undefined,
  ))
    it(`allow exactly the documented number of characters: ${at}`, () => {
      const { maxLength = 0 } = schema;
      expect(refusal(textOf(name, maxLength))).to.equal(null);
      if (schema.pattern === undefined && name !== 'url' && name !== 'email')
        expect(refusal('😀'.repeat(maxLength))).to.equal(null);
      expect(refusal(textOf(name, maxLength + 1))).to.be.a('string');
    });

  for (const { at, refusal, name } of texts.filter(
    ({ schema: { maxLength, pattern } }) => maxLength === undefined && pattern === undefined,
  ))
    it(`are absent if none is documented: ${at}`, () => expect(refusal(textOf(name, long))).to.equal(null));

  for (const { at, schema, refusal } of leaves.filter(
    ({ schema: { type, minLength } }) => type === 'string' && minLength !== undefined,
  ))
    it(`refuse an empty or blank text: ${at}`, () => {
      expect(schema.minLength).to.equal(1);
      expect(refusal('')).to.be.a('string');
      expect(refusal(' \n')).to.be.a('string');
    });

  for (const { at, schema, refusal } of leaves.filter(
    ({ schema: { type, 'x-clamp': clamp } }) => type === 'integer' && clamp === undefined,
  ))
    it(`allow exactly the documented range of numbers: ${at}`, () => {
      const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema;
      for (const value of [minimum, maximum]) expect(refusal(value), String(value)).to.equal(null);
      for (const value of [minimum - 1, maximum + 1, 1.5])
        expect(refusal(value), String(value)).to.be.a('string');
    });
});
