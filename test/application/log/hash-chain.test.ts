import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import {
  rawOf,
  seal,
  storedTexts,
  verifiedHash,
  verifies,
  whyDamaged,
  type RawEvent,
  type UnsealedEvent,
} from '../../../application/log/hash-chain.js';
import type { EventMetadata } from '../../../domain/events.js';
import type { NewEvent } from '../../../application/ports/event-store.js';
import {
  derivedUuid,
  streamName,
  type Instant,
  type OrganizationId,
  type StreamName,
} from '../../../domain/ids.js';
import { inTheClear, sealEvents, sign } from '../../support/fixtures/seal-events.js';

const unsealed = (data: object): UnsealedEvent => ({
  id: derivedUuid('an event'),
  type: 'Noted',
  data,
  metadata: {
    org: 'org-1' as OrganizationId,
    actor: { kind: 'key', id: 'key-1' },
    requestId: 'req-1',
    correlationId: 'correlation',
    causationId: 'causation',
    schemaVersion: 1,
    occurredAt: '2026-03-01T12:00:00.000Z' as Instant,
    subject: 'subject',
  },
});

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const previous = 'f'.repeat(64);
const stream = streamName('card', 'a');
const third = { stream, revision: 2, previous };
const first = { stream, revision: 0, previous: null };

const raw = (event: NewEvent, revision = 2): RawEvent => rawOf({ stream, revision, ...event });

/** The event as a store that parses JSON returns it. */
const readBack = (event: NewEvent, revision = 2): RawEvent =>
  rawOf({
    stream,
    revision,
    ...(JSON.parse(JSON.stringify(event)) as Pick<NewEvent, 'id' | 'type' | 'data' | 'metadata'>),
  });

const Stored = z.object({
  stream: z.string().transform((name) => name as StreamName),
  revision: z.int(),
  id: z.string(),
  type: z.string(),
  data: z.string(),
  personal: z.string().nullable(),
  metadata: z.string(),
});

/** The hashes by which each event of a stream verifies after the one before it. */
const verifiedHashes = (events: readonly RawEvent[]): readonly (string | null)[] => {
  let before: string | null = null;
  return events.map((event) => (before = verifiedHash(before, event)));
};

describe('the hash chain', () => {
  it('hashes the previous hash, the place in the stream and the stored texts with SHA-256', () => {
    const event = seal(third, unsealed({ n: 1 }), inTheClear, sign);
    const { hash, mac: _, ...covered } = event.metadata;
    expect(hash).to.equal(
      sha256(`${previous}\ncard-a\n2\nNoted\n${event.id}\n{"n":1}\n${JSON.stringify(covered)}`),
    );
    expect(verifiedHash(previous, raw(event))).to.equal(hash);
    expect(covered).to.deep.equal({
      ...unsealed({}).metadata,
      subject: null,
      keyId: null,
      chain: 2,
      personal: null,
    });
  });

  it('covers the place in a trace, if there is one', () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const { metadata, ...rest } = unsealed({ n: 1 });
    const event = seal(third, { ...rest, metadata: { ...metadata, traceparent } }, inTheClear, sign);
    expect(event.metadata.traceparent).to.equal(traceparent);
    expect(verifies(previous, readBack(event))).to.equal(true);
    const changed = { ...raw(event), metadata: raw(event).metadata.replace('b7-01', 'b8-01') };
    expect(verifies(previous, changed)).to.equal(false);
    expect(seal(third, unsealed({ n: 1 }), inTheClear, sign).metadata).not.to.have.property('traceparent');
  });

  it('covers a digest of the personal data, not the data itself', () => {
    const event = seal(first, unsealed({ n: 1, personal: { name: 'Ada' } }), inTheClear, sign);
    expect(event.data).to.deep.equal({ n: 1, personal: { name: 'Ada' } });
    expect(event.metadata.personal).to.deep.equal({ digest: sha256('{"name":"Ada"}') });
    expect(storedTexts(event)).to.deep.equal({
      data: '{"n":1}',
      personal: '{"name":"Ada"}',
      metadata: JSON.stringify(event.metadata),
    });
    const { hash, mac: _, ...covered } = event.metadata;
    expect(hash).to.equal(sha256(`\ncard-a\n0\nNoted\n${event.id}\n{"n":1}\n${JSON.stringify(covered)}`));
  });

  it('makes each event verify only after the one before it', () => {
    const events = sealEvents(stream, null, [unsealed({ n: 1 }), unsealed({ n: 2 })]);
    const [one, two] = events.map(readBack);
    if (one === undefined || two === undefined) throw new Error('two events were sealed');
    const [hash] = verifiedHashes([one, two]);
    expect(verifiedHashes([one, two])).to.deep.equal(events.map(({ metadata }) => metadata.hash));
    expect([verifies(previous, one), verifies(null, two)]).to.deep.equal([false, false]);
    expect(verifies(hash ?? '', { ...two, revision: 2 })).to.equal(false);
  });

  it('does not verify with other personal data, or without it', () => {
    const event = readBack(seal(first, unsealed({ n: 1, personal: { name: 'Ada' } }), inTheClear, sign), 0);
    const other = readBack(seal(first, unsealed({ n: 1 }), inTheClear, sign), 0);
    expect([verifies(null, event), verifies(null, other)]).to.deep.equal([true, true]);
    expect(verifies(null, { ...event, personal: null })).to.equal(false);
    expect(verifies(null, { ...event, data: '{"n":2}' })).to.equal(false);
    expect(verifies(null, { ...event, personal: '{"name":"Eve"}' })).to.equal(false);
    expect(verifies(null, { ...other, personal: '{"name":"Eve"}' })).to.equal(false);
    const unstamped = event.metadata.replace(/"personal":\{.*?\}/, '"personal":null');
    expect(verifies(null, { ...event, metadata: unstamped })).to.equal(false);
  });

  it('does not verify after a change of any part', () => {
    const event = readBack(seal(third, unsealed({ n: 1 }), inTheClear, sign));
    expect(verifies(previous, event)).to.equal(true);
    const changed: readonly RawEvent[] = [
      { ...event, type: 'Denied' },
      { ...event, id: derivedUuid('another') },
      { ...event, data: '{}' },
      { ...event, data: '{"n": 1}' },
      { ...event, stream: streamName('card', 'b') },
      { ...event, revision: 3 },
      { ...event, metadata: event.metadata.replace('12:00:00.000Z', '12:00:00.001Z') },
      { ...event, metadata: event.metadata.replace('"chain":2,', '') },
      { ...event, metadata: event.metadata.replace(/"hash":".*"/, `"hash":"${previous}"`) },
      { ...event, metadata: '{}' },
    ];
    expect(changed.map((each) => verifies(previous, each))).to.deep.equal(changed.map(() => false));
  });

  it('verifies any JSON, both parsed and as stored', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.option(fc.jsonValue()), (data, personal) => {
        const event = seal(
          third,
          unsealed(personal === null ? data : { ...data, personal }),
          inTheClear,
          sign,
        );
        expect(verifies(previous, readBack(event))).to.equal(true);
        expect(verifiedHash(previous, raw(event))).to.equal(event.metadata.hash);
        expect(verifiedHash(previous, raw({ ...event }))).to.equal(event.metadata.hash);
        expect(verifiedHash(null, raw(event))).to.equal(null);
      }),
      { examples: [[JSON.parse('{"__proto__":{}}') as Record<string, fc.JsonValue>, []]] },
    );
  });

  it('of a stored stream verifies forever, event by event', () => {
    const file = new URL('../../../../test/golden/chain/version-2.json', import.meta.url);
    const events = z.array(Stored).parse(JSON.parse(readFileSync(file, 'utf8')));
    expect(verifiedHashes(events)).to.deep.equal(
      events.map(({ metadata }) => (JSON.parse(metadata) as { readonly hash: string }).hash),
    );
  });

  it('refuses an event whose chain is of a version that it does not know, and says so', () => {
    const later = (version: string): RawEvent => {
      const event = raw(seal(third, unsealed({ n: 1 }), inTheClear, sign));
      const { hash: _, mac: __, ...covered } = JSON.parse(event.metadata) as EventMetadata;
      const text = JSON.stringify(covered).replace('"chain":2,', version);
      const sum = sha256(`${previous}\ncard-a\n2\nNoted\n${event.id}\n{"n":1}\n${text}`);
      return { ...event, metadata: `${text.slice(0, -1)},"hash":"${sum}"}` };
    };
    expect(
      [later('"chain":2,'), later('"chain":3,'), later('')].map((event) => verifies(previous, event)),
    ).to.deep.equal([true, false, false]);
    expect(whyDamaged(later('"chain":3,'))).to.equal(
      'its hash chain has version 3, and this release of the service knows version 2 alone',
    );
  });
});
