import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { account } from '../../domain/account.js';
import { apiKey } from '../../domain/api-key.js';
import { card } from '../../domain/card.js';
import { collectionCard, handwriting } from '../../domain/catalogue.js';
import { contact } from '../../domain/contact.js';
import { ledger } from '../../domain/credits.js';
import { doNotMail } from '../../domain/do-not-mail.js';
import { parseEvent, type Aggregate, type DomainEvent, type RecordedEvent, versionOf } from '../../domain/events.js';
import { hook } from '../../domain/hook.js';
import { categories, CommandId, Instant, streamName, Uuid } from '../../domain/ids.js';
import { audit } from '../../domain/audit.js';
import { members } from '../../domain/members.js';
import { purchase } from '../../domain/purchase.js';
import { organization } from '../../domain/organization.js';
import { webhookEndpoints } from '../../domain/webhook-endpoints.js';

/** The part of an aggregate that reads its events. */
interface Reader {
  readonly category: string;
  readonly schemaVersion: number;
  readonly schemas: Readonly<Record<string, z.ZodObject>>;
  readonly read: (stored: RecordedEvent) => DomainEvent;
}

const reader = <State, Event extends DomainEvent>(aggregate: Aggregate<State, Event>): Reader => ({
  category: aggregate.category,
  schemaVersion: versionOf(aggregate),
  schemas: aggregate.schemas,
  read: (stored) => parseEvent(aggregate, stored),
});

const readers: readonly Reader[] = [
  reader(card),
  reader(ledger),
  reader(contact),
  reader(organization),
  reader(apiKey),
  reader(doNotMail),
  reader(hook),
  reader(webhookEndpoints),
  reader(collectionCard),
  reader(handwriting),
  reader(purchase),
  reader(audit),
  reader(account),
  reader(members),
];

/**
 * Events as some version of the service has stored them; `today`: how they read now, if that is different.
 * The `data` of an example must not change once a release has written such events.
 */
const Examples = z.array(z.strictObject({ data: z.looseObject({}), today: z.looseObject({}).optional() })).nonempty();
const FileName = /^([a-z-]+)\.([A-Za-z]+)\.v(\d+)\.json$/;

const folder = new URL('../../../test/golden/', import.meta.url);
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => {
    const [, category = '', type = '', version = ''] = FileName.exec(name) ?? [];
    return { name, category, type, version: Number(version), examples: Examples.parse(JSON.parse(readFileSync(new URL(name, folder), 'utf8'))) };
  });

const stored = (category: string, type: string, version: number, data: object): RecordedEvent => ({
  id: Uuid.parse('6c0f6a3e-0000-4000-8000-0000000000f1'),
  stream: streamName(categories.find((known) => known === category) ?? 'card', 'an-id'),
  revision: 0,
  position: 1n,
  type,
  data,
  metadata: {
    org: null,
    actor: { kind: 'system', id: null },
    requestId: null,
    correlationId: 'a-request',
    causationId: CommandId.parse('a-command'),
    schemaVersion: version,
    occurredAt: Instant.parse('2026-03-02T15:00:00.000Z'),
    subject: null,
    keyId: null,
chain: 2,
    personal: null,
    hash: '',
  },
});

const readerOf = (category: string): Reader => {
  const found = readers.find((known) => known.category === category);
  if (found === undefined) throw new Error(`no aggregate has the category ${category}`);
  return found;
};

/** A part of a schema, as far as texts are looked for in it. */
interface Shape {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Shape[];
  readonly oneOf?: readonly Shape[];
  readonly items?: Shape;
  readonly properties?: Readonly<Record<string, Shape>>;
}

/** The paths of a schema's texts that may be anything: they have neither a form nor fixed values. */
const freeTexts = ({ type, format, pattern, enum: choices, const: fixed, anyOf = [], oneOf = [], items, properties = {} }: Shape): readonly string[] => [
  ...([type].flat().includes('string') && (format ?? pattern ?? choices ?? fixed) === undefined ? [''] : []),
  ...[...anyOf, ...oneOf, ...(items === undefined ? [] : [items])].flatMap(freeTexts),
  ...Object.entries(properties).flatMap(([name, shape]) => freeTexts(shape).map((path) => `${name}${path && `.${path}`}`)),
];

/**
 * The texts outside `personal`, which is sealed and can be erased. `application/personal/personal.ts` seals
 * `reason` and `order.reference` of a card, too; the others are about organizations, their keys and what
 * operators do.
 */
const outsidePersonal: readonly string[] = [
  'audit by', 'audit root', 'audit subject', 'audit sum',
  'card machine', 'card order.design.slug', 'card order.handwriting', 'card order.reference', 'card order.request', 'card order.source.id', 'card reason',
  'collection title', 'contact reason',
  'credits cause.card', 'credits cause.owed.card', 'credits cause.void.card', 'credits reason', 'handwriting name',
  'hook design', 'hook label', 'hook signedBy', 'hook template', 'key label',
  'organization design.name', 'organization design.slug', 'organization houseHand', 'organization name', 'organization reason',
  'purchase reason', 'purchase reference',
  'webhooks description', 'webhooks events', 'webhooks reason', 'webhooks secret.key', 'webhooks url',
];

describe('the golden events', () => {
  it('have no text outside `personal` but those listed: what customers write about people belongs into it', () => {
    const found = readers.flatMap(({ category, schemas }) =>
      Object.values(schemas).flatMap((schema) =>
        freeTexts(z.toJSONSchema(schema, { unrepresentable: 'any' }) as Shape)
          .filter((path) => !path.startsWith('personal.'))
          .map((path) => `${category} ${path}`),
      ),
    );
    expect([...new Set(found)].sort()).to.deep.equal([...outsidePersonal].sort());
  });

  it('cover every aggregate, and every event type in its current version', () => {
    expect(readers.map(({ category }) => category).sort()).to.deep.equal([...categories].sort());
    const wanted = readers.flatMap(({ category, schemas, schemaVersion }) => Object.keys(schemas).map((type) => `${category}.${type}.v${schemaVersion}.json`));
    const there = files.filter(({ category, version }) => version === readerOf(category).schemaVersion).map(({ name }) => name);
    expect(there.sort()).to.deep.equal(wanted.sort());
  });

  for (const { name, category, type, version, examples } of files) {
    it(`still read the same: ${name}`, () => {
      const { read } = readerOf(category);
      const hint = 'how an example reads now (a field with a default belongs into the `today` of older examples)';
      for (const { data, today = data } of examples) expect(read(stored(category, type, version, data)), hint).to.deep.equal({ type, data: today });
    });

    it(`reveal a field that was removed, renamed or added: ${name}`, () => {
      const { schemas } = readerOf(category);
      const schema = schemas[type];
      if (schema === undefined) throw new Error(`${type} is not read any more`);
      const read = examples.map(({ data, today = data }) => today);
      for (const [field, shape] of Object.entries(schema.shape)) {
        const today = read.find((example) => field in example);
        expect(today, `an example with ${field}`).not.to.equal(undefined);
        const reads = (changed: z.ZodObject) => changed.safeParse(today);
        const without = z.object(Object.fromEntries(Object.entries(schema.shape).filter(([name]) => name !== field)));
        expect(reads(without).data, `without ${field}`).to.not.deep.equal(today);
        expect(reads(without.extend({ [`${field}Renamed`]: shape })).data, `${field} renamed`).to.not.deep.equal(today);
      }
      expect(schema.extend({ added: z.string() }).safeParse(read[0]).success).to.equal(false);
    });
  }
});
