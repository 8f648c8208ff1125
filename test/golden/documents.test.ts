import { expect } from 'chai';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { apiKey } from '../../domain/api-key.js';
import { card } from '../../domain/card.js';
import { collectionCard, handwriting } from '../../domain/catalogue.js';
import { contact } from '../../domain/contact.js';
import { ledger } from '../../domain/credits.js';
import { doNotMail } from '../../domain/do-not-mail.js';
import { versionOf, type LoggedEvent } from '../../domain/events.js';
import { hook } from '../../domain/hook.js';
import { categoryOf, derivedUuid, Instant, OrganizationId, type StreamName } from '../../domain/ids.js';
import { organization } from '../../domain/organization.js';
import { allProjections } from '../../projections/all.js';
import type { Projection } from '../../projections/projection.js';

const folder = new URL('../../../test/golden/documents/', import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, folder), 'utf8'));

/**
 * `events.json`: the events from which every projection is built here. Events of a new type are added at the
 * end, on streams of their own, so that the documents of the others stay as they are.
 */
const Events = z.array(
  z.strictObject({
    stream: z.string().transform((name) => name as StreamName),
    type: z.string(),
    schemaVersion: z.int(),
    at: Instant,
    data: z.looseObject({}),
    /** In the envelope. */
    org: OrganizationId.nullable().default(null),
  }),
);

const revisions = new Map<StreamName, number>();
const nextRevision = (stream: StreamName): number => {
  const revision = (revisions.get(stream) ?? -1) + 1;
  revisions.set(stream, revision);
  return revision;
};

const log = Events.parse(read('events.json')).map(
  ({ stream, type, schemaVersion, at, data, org }, index): LoggedEvent => ({
    id: derivedUuid('golden', index),
    stream,
    revision: nextRevision(stream),
    position: BigInt(index + 1),
    type,
    data,
    metadata: {
      org,
      actor: { kind: 'system', id: null },
      requestId: null,
      correlationId: 'golden',
      causationId: 'golden',
      schemaVersion,
      occurredAt: at,
      subject: null,
      keyId: null,
chain: 2,
      personal: null,
      hash: '',
    },
  }),
);

/** What a read model stores: the document, and the fields by which lists and agendas find it. */
interface Row {
  readonly key: string;
  readonly org: string | null;
  readonly agenda: string | null;
  readonly indexes: Readonly<Record<string, string | null>>;
  readonly document: object;
}

/** The documents that a projection builds from the log, oldest first. */
const build = (projection: Projection<unknown>): ReadonlyMap<string, unknown> => {
  const documents = new Map<string, unknown>();
  for (const event of log) {
    if (categoryOf(event.stream) !== projection.category) continue;
    const key = projection.key(event);
    const document = projection.evolve(documents.get(key) ?? null, event);
    if (document !== null) documents.set(key, document);
  }
  return documents;
};

const rowsOf = (projection: Projection<unknown>): readonly Row[] =>
  [...build(projection)].map(([key, document]) => ({
    key,
    org: projection.org(document),
    agenda: projection.agenda?.(document) ?? null,
    indexes: Object.fromEntries(
      Object.entries(projection.indexes).map(([name, of]) => [name, of(document)]),
    ),
    // In the form in which it is stored.
    document: JSON.parse(JSON.stringify(document)) as object,
  }));

const fileOf = (name: string, version: number): string => `${name}.v${version}.json`;

const asFile = (rows: readonly Row[]): string =>
  `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`;

const missing = (file: string, rows: readonly Row[]): string =>
  `test/golden/documents/${file} is missing. If these are the documents that this version is meant to build, ` +
  `save them in it:\n${asFile(rows)}`;

const changed = ({ name, version }: Projection<unknown>): string =>
  `The projection ${name} builds other documents than its version ${version} did, and read models that are ` +
  `in use keep the old ones. Set its version to ${version + 1}, and put the new documents into ` +
  `test/golden/documents/${fileOf(name, version + 1)}; leave ${fileOf(name, version)} as it is`;

/** The aggregates whose events are projected. */
const sources = [card, ledger, organization, apiKey, handwriting, collectionCard, contact, hook, doNotMail];

describe('the golden documents', () => {
  for (const projection of allProjections) {
    const { name, version } = projection;
    const file = fileOf(name, version);

    it(`in ${file} are what version ${version} of ${name} builds`, () => {
      const rows = rowsOf(projection);
      if (!existsSync(new URL(file, folder))) expect.fail(missing(file, rows));
      expect(rows, changed(projection)).to.deep.equal(read(file));
    });

    it(`in ${file} have a value in every field`, () => {
      const rows = rowsOf(projection);
      const empty = (values: readonly object[]): readonly string[] => {
        const fields = new Set(values.flatMap((value) => Object.keys(value)));
        const filled = values.flatMap((value) => Object.entries(value).filter(([, held]) => held !== null));
        return [...fields].filter((field) => !filled.some(([name]) => name === field));
      };
      expect(rows, name).to.not.have.length(0);
      expect(empty(rows.map(({ document }) => document)), 'fields').to.deep.equal([]);
      expect(empty(rows.map(({ indexes }) => indexes)), 'indexes').to.deep.equal([]);
    });
  }

  it('are built from all event types of the projected aggregates, in their current versions', () => {
    const read = new Set<string>(allProjections.map(({ category }) => category));
    expect(new Set<string>(sources.map(({ category }) => category))).to.deep.equal(read);
    const wanted = sources.flatMap((source) =>
      Object.keys(source.schemas).map((type) => `${source.category}.${type}.v${versionOf(source)}`),
    );
    const there = log.map(
      ({ stream, type, metadata }) => `${categoryOf(stream)}.${type}.v${metadata.schemaVersion}`,
    );
    expect(wanted.filter((type) => !there.includes(type))).to.deep.equal([]);
  });

  it('belong to projections and versions that exist or have existed', () => {
    const known = allProjections.flatMap(({ name, version }) =>
      Array.from({ length: version }, (_, index) => fileOf(name, index + 1)),
    );
    const files = readdirSync(folder).filter((file) => file !== 'events.json');
    expect(files.filter((file) => !known.includes(file))).to.deep.equal([]);
  });
});
