import { exampleOf } from '../../../adapters/http/document/samples.js';
import { maxBodyBytes } from '../../../adapters/http/server/bodies.js';
import { deepestNesting } from '../../../adapters/http/server/json-body.js';
import type { JsonSchema } from '../../../adapters/http/schema/json-schema.js';
import { isPlainObject } from '../../../domain/plain-object.js';
import { kindsOfText, worstText } from './worst-texts.js';

/** One request that takes as much as it can. */
export interface WorstInput {
  readonly name: string;
  readonly body?: string;
  readonly search?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a request line and its headers may take, with room for the others. */
const maxHeadBytes = 12 * 1024;

const filled = (bytes: number, item: (at: number) => string, before = '', after = ''): string => {
  const items: string[] = [];
  let room = bytes - before.length - after.length;
  for (let at = 0; ; at += 1) {
    const next = item(at);
    room -= next.length + 1;
    if (room < 0) return before + items.join(',') + after;
    items.push(next);
  }
};

const nested = (open: string, close: string, levels: number, inside: string): string =>
  open.repeat(levels) + inside + close.repeat(levels);

/** Bodies that are bad whatever an operation expects. */
const anyBodies: readonly (readonly [string, string])[] = [
  ['the most keys', filled(maxBodyBytes, (at) => `"k${at}":0`, '{', '}')],
  ['the most keys that are numbers', filled(maxBodyBytes, (at) => `"${at * 7_919}":0`, '{', '}')],
  ['one key again and again', filled(maxBodyBytes, () => '"__proto__":0', '{', '}')],
  ['the longest name', `{"${'x'.repeat(maxBodyBytes - 10)}":0}`],
  ['the deepest lists', `{"a":${nested('[', ']', maxBodyBytes / 2 - 5, '')}}`],
  ['the deepest objects', nested('{"a":', '}', maxBodyBytes / 6 - 2, '0')],
  [
    'as deep as is allowed, and wide',
    nested(
      '{"a":',
      '}',
      deepestNesting - 2,
      filled(maxBodyBytes - 6 * deepestNesting, () => '{}', '[', ']'),
    ),
  ],
  ['the longest number', `{"a":${'1'.repeat(maxBodyBytes - 8)}}`],
  ['the longest fraction', `{"a":0.${'1'.repeat(maxBodyBytes - 10)}e-9}`],
  ...['-0', '[-0]', '1e5', '{"a":-0}'].map(
    (item) => [`the most ${item}`, filled(maxBodyBytes, () => item, '{"a":[', ']}')] as const,
  ),
  ['the most keys with -0', filled(maxBodyBytes, (at) => `"k${at}":-0`, '{', '}')],
  ['the most escapes', `{"a":"${'\\u0000'.repeat(maxBodyBytes / 6 - 3)}"}`],
  ['a list that never ends', `{"a":[${'0,'.repeat(maxBodyBytes / 2 - 5)}`],
];

type Path = readonly string[];
type Resolve = (schema: JsonSchema) => JsonSchema;

const leavesOf = (
  schema: JsonSchema,
  resolve: Resolve,
  path: Path = [],
): readonly (readonly [Path, JsonSchema])[] => {
  const { properties, ...own } = resolve(schema);
  if (properties === undefined) return [[path, own]];
  return Object.entries(properties).flatMap(([name, inside]) => leavesOf(inside, resolve, [...path, name]));
};

const withValue = (body: unknown, [name, ...rest]: Path, value: unknown): unknown => {
  if (name === undefined) return value;
  const known = isPlainObject(body) ? body : {};
  return { ...known, [name]: withValue(known[name], rest, value) };
};

const mayBeText = ({ type, anyOf }: JsonSchema): boolean =>
  anyOf?.some(mayBeText) ?? [type ?? 'string'].flat().includes('string');

/** The example of a body, with what `changes` says of it. */
const sentWith = (example: unknown, path: Path, value: unknown): string =>
  JSON.stringify(withValue(example, path, value));

/** Text of a kind at one place of a body that is as large as it may be. */
const textAt = (example: unknown, path: Path, kind: string): string => {
  const empty = Buffer.byteLength(sentWith(example, path, ''));
  let text = worstText(kind, maxBodyBytes - empty);
  for (;;) {
    const body = sentWith(example, path, text);
    const over = Buffer.byteLength(body) - maxBodyBytes;
    if (over <= 0) return body;
    // Escapes make some texts longer.
    text = text.slice(
      0,
      Math.floor((text.length * (maxBodyBytes - empty)) / (over + maxBodyBytes - empty)) - 1,
    );
  }
};

/** Everywhere the longest text of a kind that its field takes. */
const longestTexts = (
  example: unknown,
  leaves: readonly (readonly [Path, JsonSchema])[],
  kind: string,
): string => {
  const texts = leaves.filter(([, leaf]) => mayBeText(leaf) && leaf.enum === undefined);
  const share = Math.floor(maxBodyBytes / 8 / Math.max(1, texts.length));
  return JSON.stringify(
    texts.reduce((body, [path, leaf]) => {
      const characters = leaf.maxLength ?? share;
      return withValue(body, path, worstText(kind, characters * 4, characters));
    }, example),
  );
};

/** The worst bodies for a schema. `kinds`: of text. */
export const worstBodies = (
  schema: JsonSchema,
  resolve: Resolve,
  kinds: readonly string[] = kindsOfText,
): readonly WorstInput[] => {
  const whole = resolve(schema);
  const example = whole.examples?.[0] ?? exampleOf(whole);
  const leaves = leavesOf(whole, resolve);
  const inText = leaves
    .filter(([path]) => path.length > 0)
    .flatMap(([path]) =>
      kinds.map((kind) => ({ name: `${kind} at ${path.join('.')}`, body: textAt(example, path, kind) })),
    );
  const inLists = leaves
    .filter(([, leaf]) => leaf.type === 'array')
    .flatMap(([path, leaf]) => {
      const good = JSON.stringify(exampleOf(resolve(leaf.items ?? {})));
      const around = sentWith(example, path, []);
      return [good, '"a"', '0'].map((item) => {
        const list: unknown = JSON.parse(filled(maxBodyBytes - around.length, () => item, '[', ']'));
        return { name: `the most items ${item} at ${path.join('.')}`, body: sentWith(example, path, list) };
      });
    });
  const allowed = kinds.map((kind) => ({
    name: `${kind}, as long as allowed`,
    body: longestTexts(example, leaves, kind),
  }));
  const known = JSON.stringify(example).slice(1, -1);
  const beside = filled(
    maxBodyBytes - known.length - 4,
    (at) => `"v${at}":"x"`,
    `{${known}${known === '' ? '' : ','}`,
    '}',
  );
  const any = anyBodies.flatMap(([name, body]) => [
    { name, body },
    { name: `${name}, strictly`, body, headers: { prefer: 'handling=strict' } },
  ]);
  return [
    ...any,
    { name: 'the most keys beside those it knows', body: beside },
    ...inLists,
    ...allowed,
    ...inText,
  ];
};

const wellFormed = (text: string): string => Buffer.from(text).toString();

const asQuery = (name: string, kind: string): string => {
  const encoded = encodeURIComponent(wellFormed(worstText(kind, maxHeadBytes)));
  return `${name}=${encoded.slice(0, maxHeadBytes).replace(/%.?$/, '')}`;
};

/** The worst queries for parameters of these names. */
export const worstQueries = (
  names: readonly string[],
  kinds: readonly string[] = kindsOfText,
): readonly WorstInput[] => [
  {
    name: 'the most parameters',
    search: filled(maxHeadBytes, (at) => `${at.toString(36)}`, '').replaceAll(',', '&'),
  },
  {
    name: 'the most parameters, strictly',
    search: filled(maxHeadBytes, (at) => `l${at}`).replaceAll(',', '&'),
    headers: { prefer: 'handling=strict' },
  },
  { name: 'one parameter again and again', search: 'a&'.repeat(maxHeadBytes / 2) },
  { name: 'nothing but ampersands', search: '&'.repeat(maxHeadBytes) },
  ...names.flatMap((name) =>
    kinds.map((kind) => ({ name: `${kind} as ${name}`, search: asQuery(name, kind) })),
  ),
];

const fitsHeader = (text: string): string => text.replaceAll(/[^\t\x20-\x7e]/g, 'x').trim();

/** The worst values of each header that the service reads, and of others that operations name. */
export const worstHeaders = (
  names: readonly string[],
  kinds: readonly string[] = kindsOfText,
): readonly WorstInput[] =>
  names.flatMap((name) =>
    kinds.map((kind) => ({
      name: `${kind} as ${name}`,
      headers: { [name]: fitsHeader(worstText(kind, maxHeadBytes)) },
    })),
  );

/** For a parameter of a path. */
export const worstSegments = (
  kinds: readonly string[] = kindsOfText,
): readonly (readonly [string, string])[] => kinds.map((kind) => [kind, asQuery('', kind).slice(1)] as const);
