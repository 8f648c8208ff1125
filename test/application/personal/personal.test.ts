import { expect } from 'chai';
import { createDecipheriv, createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { rawOf, storedTexts, verifies } from '../../../application/log/hash-chain.js';
import { assertChained } from '../../../application/history/as-of.js';
import {
  keyRing,
  LostIndexKey,
  MissingPersonalKey,
  rotateKeys,
  type KeyRing,
} from '../../../application/personal/key-ring.js';
import { openedEvents, openText, sealText } from '../../../application/personal/personal.js';
import { PersonalKeysUnavailable } from '../../../application/ports/personal-keys.js';
import type { EventMetadata, LoggedEvent } from '../../../domain/events.js';
import { derivedUuid, Uuid } from '../../../domain/ids.js';
import type { MasterKeys } from '../../../domain/webhook-signing.js';
import {
  eachKeyLost,
  examples,
  masters,
  reopened,
  ringOver,
  stream,
  written,
} from '../../support/fixtures/sealed-examples.js';
import { VirtualClock } from '../../support/memory/clock.js';
import { SeededEntropy } from '../../support/memory/entropy.js';
import { MemoryEventStore } from '../../support/memory/event-store.js';
import { MemoryPersonalKeys } from '../../support/memory/personal-keys.js';
import { standingClock } from '../../support/time/standing-clock.js';

const dataOf = (events: readonly Pick<LoggedEvent, 'data'>[]) => events.map(({ data }) => data);

describe('sealed personal data', () => {
  it('is opened to what was recorded, by every way of reading', async () => {
    const { log, store } = await written();
    const opened = reopened(log, store);
    const whole = examples.map(([, data]) => data);
    expect(dataOf(await opened.readStream(stream, 0))).to.deep.equal(whole);
    expect(dataOf(await opened.readLog(0n, 10))).to.deep.equal(whole);
    expect((await opened.readLast(stream))?.data).to.deep.equal({});
    const stop = new AbortController();
    for await (const events of opened.follow(0n, { signal: stop.signal })) {
      expect(dataOf(events)).to.deep.equal(whole);
      stop.abort();
    }
  });

  it('is waited for by a follower while its keys are away', async () => {
    const { log, store } = await written();
    const load = store.load.bind(store);
    let failures = 2;
    store.load = (numbers) =>
      failures-- > 0 ? Promise.reject(new PersonalKeysUnavailable('They are away.')) : load(numbers);
    const stop = new AbortController();
    const opened = openedEvents(log, ringOver(store, masters, 9), standingClock(0));
    for await (const events of opened.follow(0n, { signal: stop.signal })) {
      expect(dataOf(events)).to.deep.equal(examples.map(([, data]) => data));
      stop.abort();
    }
    expect(failures).to.be.lessThan(0);
  });

  it('leaves no word of a person in what is stored: letters, references, reasons', async () => {
    const { events, store } = await written();
    const [, block] = store.blocks.keys();
    const stored = JSON.stringify(events.map(storedTexts));
    for (const word of ['Ada', 'Analytical', 'Springfield', 'order 1', 'tore'])
      expect(stored, word).to.not.include(word);
    expect(events.map(({ metadata: { subject, keyId } }) => [subject, keyId])).to.deep.equal([
      ...[0, 1, 2, 3, 4].map((slot) => ['HC-7K3M9QX', `${block}.${slot}`]),
      [null, null],
    ]);
  });

  it('is covered by the hash with the digest of its sealed text, which must stay', async () => {
    const { events } = await written();
    const [event] = events;
    if (event === undefined) throw new Error('there are events');
    const raw = rawOf({ stream, revision: 0, ...event });
    const texts = storedTexts(event);
    const sealed = { ...raw, ...texts };
    const digest = createHash('sha256')
      .update(texts.personal ?? '')
      .digest('hex');
    expect(event.metadata.personal).to.deep.equal({ digest });
    expect(verifies(null, sealed)).to.equal(true);
    expect(verifies(null, { ...sealed, personal: null })).to.equal(false);
    expect(
      verifies(null, { ...sealed, personal: (texts.personal ?? '').replace('"v":2', '"v": 2') }),
    ).to.equal(false);
  });

  it('leaves the chain of what was opened to be checked', async () => {
    const { log, store } = await written();
    const read = await reopened(log, store).readStream(stream, 0);
    expect(() => assertChained(null, read)).to.not.throw();
    expect(() => assertChained(null, read.slice(1))).to.throw();
  });

  it('need not be opened by the process that sealed it, for the event that it was sealed for, until its key is destroyed', async () => {
    const { ring, store, events } = await written();
    const { id: keyId } = ring.next();
    const id = derivedUuid('noted');
    ring.note(keyId, { event: id, text: '{"message":"Ada"}' });
    const read = async (event: Uuid, keys: KeyRing): Promise<object | undefined> => {
      const log = new MemoryEventStore({ atomic: true });
      const metadata = { ...events[0]?.metadata, keyId } as EventMetadata;
      await log.append([
        {
          stream,
          expected: -1,
          events: [{ id: event, type: 'CardScheduled', data: { personal: {} }, metadata }],
        },
      ]);
      return (await openedEvents(log, keys, new VirtualClock()).readLast(stream))?.data;
    };
    expect(await read(id, ring)).to.deep.equal({ personal: { message: 'Ada' } });
    expect(await read(derivedUuid('another'), ring)).to.deep.equal({ personal: null });
    expect(await read(id, ringOver(store, masters, 9))).to.deep.equal({ personal: null });
    await ring.destroy([keyId]);
    expect([await read(id, ring), ring.noted(keyId)]).to.deep.equal([{ personal: null }, null]);
  });

  it('is lost with its key, and no other event with it', async () => {
    const whole = examples.map(([, data]) => data);
    let keys = 0;
    for await (const { lost, type, read } of eachKeyLost(() => new MemoryPersonalKeys())) {
      keys += 1;
      expect(
        read.filter((_, index) => index !== lost),
        type,
      ).to.deep.equal(whole.filter((_, index) => index !== lost));
      expect(JSON.stringify(read[lost]), type).to.not.include('Ada');
      expect(read[lost], type).to.include(type === 'CardFailed' ? { reason: null } : { personal: null });
    }
    expect(keys).to.equal(5);
  });

  it('is lost with its block, but a key of the file that is missing ends the process', async () => {
    const { log, store } = await written();
    const [, number = NaN] = store.blocks.keys();
    const block = store.blocks.get(number);
    store.blocks.delete(number);
    expect((await reopened(log, store).readStream(stream, 0))[0]?.data).to.include({ personal: null });
    if (block !== undefined) store.blocks.set(number, block);
    const other: MasterKeys = [{ id: 'other', key: Buffer.alloc(32, 2) }];
    let refused: unknown = null;
    await reopened(log, store, other)
      .readStream(stream, 0)
      .catch((error: unknown) => (refused = error));
    expect(refused).to.be.instanceOf(MissingPersonalKey);
    expect(
      (await reopened(log, store, [...other, ...masters] as MasterKeys).readLast(stream))?.type,
    ).to.equal('CardQueued');
  });

  it('opens for its own event and with its own key only', () => {
    const [id, another] = [derivedUuid('one'), derivedUuid('two')];
    const key = Buffer.alloc(32, 5);
    const text = sealText(key, '17.203', Buffer.alloc(12, 7), id, '{"name":"Ada"}');
    const stored: unknown = JSON.parse(text);
    expect(openText(key, id, stored)).to.equal('{"name":"Ada"}');
    expect(openText(key, another, stored)).to.equal(null);
    expect(openText(Buffer.alloc(32, 6), id, stored)).to.equal(null);
    const commit = createHash('sha256').update('x').digest('base64');
    expect(openText(key, id, { ...Object(stored), commit })).to.equal(null);
    for (const wrong of [null, 'x', {}, { ...Object(stored), sealed: '' }, { ...Object(stored), iv: 'AAAA' }])
      expect(openText(key, id, wrong)).to.equal(null);
  });

  it('has the format of the golden file', () => {
    const Golden = z.object({ key: z.string(), event: Uuid, personal: z.string(), stored: z.string() });
    const file = new URL('../../../../test/golden/sealed/personal.v2.json', import.meta.url);
    const { key: encoded, event, personal, stored } = Golden.parse(JSON.parse(readFileSync(file, 'utf8')));
    const key = Buffer.from(encoded, 'base64');
    const fields = z
      .strictObject({
        v: z.literal(2),
        key: z.string(),
        iv: z.string(),
        sealed: z.string(),
        commit: z.string(),
      })
      .parse(JSON.parse(stored));
    const iv = Buffer.from(fields.iv, 'base64');
    expect(sealText(key, fields.key, iv, event, personal)).to.equal(stored);
    // Opened by nothing of the service's own.
    const bytes = Buffer.from(fields.sealed, 'base64');
    const opening = createDecipheriv('aes-256-gcm', key, iv);
    opening.setAAD(Buffer.from(event)).setAuthTag(bytes.subarray(-16));
    expect(`${opening.update(bytes.subarray(0, -16)).toString()}${opening.final().toString()}`).to.equal(
      personal,
    );
    const commitment = createHash('sha256').update('handwritten-card-service/personal-key/v1\n').update(key);
    expect(commitment.digest('base64')).to.equal(fields.commit);
  });
});

describe('the key ring', () => {
  it('gives each key once, never one of a block that it finds, and none that a store with other blocks has', async () => {
    const store = new MemoryPersonalKeys();
    const first = ringOver(store);
    await first.ready();
    const ids = new Set<string>();
    const take = async (ring: KeyRing, count: number): Promise<void> => {
      for (let taken = 0; taken < count; taken += 1) {
        await ring.ready();
        const { id } = ring.next();
        expect(ids.has(id), id).to.equal(false);
        ids.add(id);
      }
    };
    await take(first, 600);
    await take(ringOver(store, masters, 2), 600);
    await take(ringOver(new MemoryPersonalKeys(), masters, 3), 600);
    expect(ids.size).to.equal(1_800);
  });

  it('says at once why it has no keys left while its store takes none, and has some when it does', async () => {
    const store = new MemoryPersonalKeys();
    const clock = new VirtualClock();
    const ring = keyRing({ store, masters, clock, entropy: new SeededEntropy(3) });
    await ring.ready();
    const began = clock.monotonic();
    const add = store.add.bind(store);
    let tries = 0;
    store.add = () => {
      tries += 1;
      return Promise.reject(new PersonalKeysUnavailable('database or disk is full'));
    };
    const take = async (): Promise<string> => {
      await ring.ready();
      return ring.next().id;
    };
    const why = await (async () => {
      for (let taken = 0; taken < 10_000; taken += 1) await take();
      return null;
    })().catch((error: unknown) => error);
    expect(String(why)).to.equal('PersonalKeysUnavailable: database or disk is full');
    // No time has passed, so nothing was tried again.
    expect([clock.monotonic() - began, tries]).to.deep.equal([0, 1]);
    store.add = add;
    await clock.advance(250);
    await take().catch(() => undefined);
    await ring.fill();
    expect(await take()).to.match(/^\d+\.\d+$/);
  });

  it('hashes a text alike in every process, before and after a rotation, and otherwise over another store', async () => {
    const store = new MemoryPersonalKeys();
    const rings = [
      ringOver(store),
      ringOver(store, masters, 2),
      ringOver(new MemoryPersonalKeys(), masters, 7),
    ];
    const [one, other, another] = await Promise.all(
      rings.map((ring) => ring.hashed('key', 'org', 'order-1')),
    );
    expect(one).to.match(/^[\w-]{43}$/);
    const newer = [{ id: 'newer', key: Buffer.alloc(32, 9) }, ...masters] as const;
    await rotateKeys({ store, masters: newer, entropy: new SeededEntropy(5) });
    const rotated = await ringOver(store, [newer[0]], 3).hashed('key', 'org', 'order-1');
    expect([other, rotated, another === one]).to.deep.equal([one, one, false]);
    expect(await ringOver(store, newer, 4).hashed('key', 'org o', 'rder-1')).to.not.equal(one);
  });

  it('refuses to hash anything if the first block is lost, rather than take another key', async () => {
    const store = new MemoryPersonalKeys();
    await ringOver(store).ready();
    store.blocks.delete(0);
    const refused = await ringOver(store, masters, 2)
      .hashed('key', 'org', 'order-1')
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(LostIndexKey);
  });

  it('remembers the newest thousand of what was sealed, and no more', () => {
    const ring = ringOver(new MemoryPersonalKeys());
    const sealed = { event: derivedUuid('event'), text: '{}' };
    for (let number = 0; number <= 1_000; number += 1) ring.note(`1.${number}`, sealed);
    expect([ring.noted('1.0'), ring.noted('1.1'), ring.noted('1.1000')]).to.deep.equal([
      null,
      sealed,
      sealed,
    ]);
  });

  it('gives out no keys of a block that is gone from the store', async () => {
    const store = new MemoryPersonalKeys();
    const ring = ringOver(store);
    await ring.ready();
    const { id: before } = ring.next();
    await ring.check();
    expect(ring.next().id.split('.')[0]).to.equal(before.split('.')[0]);
    store.blocks.clear();
    await ring.check();
    await ring.ready().catch(() => undefined);
    expect(() => ring.next()).to.not.throw();
    expect(store.blocks.has(Number(ring.next().id.split('.')[0]))).to.equal(true);
  });

  it('finds out that keys are gone although it has none of its own and reads nothing anew', async () => {
    const store = new MemoryPersonalKeys();
    const writer = ringOver(store);
    await writer.ready();
    let missed = 0;
    const onMissing = async () => void (missed += 1);
    const reader = keyRing({
      store,
      onMissing,
      masters,
      clock: new VirtualClock(),
      entropy: new SeededEntropy(4),
    });
    await reader.check();
    await reader.load([writer.next().id]);
    await reader.check();
    expect(missed).to.equal(0);
    store.blocks.clear();
    await reader.check();
    await reader.check();
    expect(missed).to.equal(1);
  });

  it('knows keys that another process has made, and keys that were destroyed by their lack', async () => {
    const store = new MemoryPersonalKeys();
    const [one, two] = [ringOver(store), ringOver(store, masters, 2)];
    await one.ready();
    const { id, key } = one.next();
    const { id: other } = one.next();
    await two.load([id, other, '9.9', 'nonsense']);
    expect(two.keyOf(id)?.equals(key)).to.equal(true);
    expect([two.keyOf('9.9'), two.keyOf('nonsense')]).to.deep.equal([null, null]);
    await two.destroy([id]);
    expect([two.keyOf(id), two.keyOf(other) === null]).to.deep.equal([null, false]);
    const third = ringOver(store, masters, 3);
    await third.load([id, other]);
    expect([third.keyOf(id), third.keyOf(other) === null]).to.deep.equal([null, false]);
  });
});
