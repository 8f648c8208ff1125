import { expect } from 'chai';
import { Readable } from 'node:stream';
import { readContact } from '../../../adapters/http/api/contact-fields.js';
import { changeCard } from '../../../application/cards/change-card.js';
import { execute } from '../../../application/writing/execute.js';
import { giveUpKeys } from '../../../application/personal/give-up.js';
import { keyRing, rotateKeys, type KeyRing } from '../../../application/personal/key-ring.js';
import { beginImport, findImport, importIdOf } from '../../../application/contacts/imports.js';
import { cardForOperator, cardHistory } from '../../../application/cards/card-record.js';
import { documentAt, momentOf } from '../../../application/history/as-of.js';
import {
  followEvents,
  listEvents,
  readEvent,
  type ShownEvent,
} from '../../../application/log/read-events.js';
import { LogWatch } from '../../../application/log/watch-log.js';
import type { ReadModels } from '../../../application/ports/read-models.js';
import { openedEvents, personalSeal } from '../../../application/personal/personal.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { runShredder } from '../../../application/personal/shred.js';
import { Streams } from '../../../application/writing/streams.js';
import { readPart } from '../../../application/contacts/waiting-rows.js';
import { cancel, cardStream, erase } from '../../../domain/card.js';
import type { CardCode } from '../../../domain/card-code.js';
import { contacts } from '../../../projections/contacts.js';
import {
  contact,
  contactIdOf,
  deleteContact,
  eraseContact,
  saveContact,
  type ContactDetails,
} from '../../../domain/contact.js';
import { addToDoNotMail, doNotMail, doNotMailId, removeFromDoNotMail } from '../../../domain/do-not-mail.js';
import { UnknownEvent, type LoggedEvent } from '../../../domain/events.js';
import { OrganizationId, streamName } from '../../../domain/ids.js';
import type { MasterKeys } from '../../../domain/webhook-signing.js';
import { makeWorld, org, sendRequest, type World } from '../../support/fixtures/world.js';
import { SeededEntropy } from '../../support/memory/entropy.js';
import { MemoryPersonalKeys } from '../../support/memory/personal-keys.js';
import { MemoryImportRecords } from '../../support/memory/records.js';
import { eventually } from '../../support/time/eventually.js';
import { sign } from '../../support/fixtures/seal-events.js';

const masters: MasterKeys = [{ id: 'a', key: Buffer.alloc(32, 1) }];

const details: ContactDetails = {
  externalId: 'c-1',
  name: 'Ada Lovelace',
  firstName: 'Ada',
  lastName: 'Lovelace',
  company: null,
  jobTitle: null,
  email: null,
  phone: null,
  address: { line1: null, line2: null, city: null, state: null, zip: null, country: 'US' },
  birthday: null,
  workAnniversary: null,
};

const copyOf = (keys: MemoryPersonalKeys): MemoryPersonalKeys => {
  const copy = new MemoryPersonalKeys();
  for (const [number, block] of keys.blocks) copy.blocks.set(number, block);
  return copy;
};

/** A world whose personal data is sealed, and two cards in it that were cancelled. */
const sealedWorld = async ({ credits = 5, bytesPerEvent = 1 } = {}) => {
  const world = await makeWorld({ atomic: true, credits, bytesPerEvent });
  const keys = new MemoryPersonalKeys();
  const ringOver = (store: MemoryPersonalKeys, seed: number): KeyRing =>
    keyRing({ store, masters, clock: world.clock, entropy: new SeededEntropy(seed) });
  const ring = ringOver(keys, 1);
  const store = openedEvents(world.store, ring, world.clock);
  const streams = new Streams(store, { ...personalSeal(ring, world.entropy), sign });
  const sealed = { ...world, store, streams };
  const send = async () => {
    const { code } = await sendCard(sealed, sendRequest(world));
    await changeCard(sealed, { code, org }, world.command(), cancel);
    return code;
  };
  const [gone, kept] = [await send(), await send()];
  return { world, sealed, keys, ringOver, gone, kept };
};

/** Runs the shredder over the log until its place is the end of the log. */
const shredded = async (
  world: World,
  keys: MemoryPersonalKeys,
  ring: KeyRing,
  importRecords = new MemoryImportRecords(world.clock),
): Promise<void> => {
  const stop = new AbortController();
  const store = openedEvents(world.store, ring, world.clock);
  let hasBegun = false;
  const place = {
    mark: () => {
      hasBegun = true;
      return keys.mark();
    },
    saveMark: keys.saveMark.bind(keys),
  };
  const running = runShredder(
    { store, personalKeys: ring, place, importRecords, clock: world.clock },
    stop.signal,
    (error) => {
      throw error;
    },
  );
  const { position } = await world.store.head();
  await eventually(async () => hasBegun && (await keys.mark())?.position === position);
  stop.abort();
  await running;
};

/** The first event's data as a process reads it that has just started. */
const firstData = async (world: World, ring: KeyRing, stream: ReturnType<typeof cardStream>) =>
  (await openedEvents(world.store, ring, world.clock).readStream(stream, 0, 1))[0]?.data;

describe('what was erased', () => {
  it('is shown by no reader before the shredder has passed it: events, history, and any moment before', async () => {
    const { world, sealed, gone, kept } = await sealedWorld();
    const made = world.command();
    const id = contactIdOf(org, 'c-1');
    const contactStream = streamName('contact', id);
    await execute(sealed, contact, id, made, saveContact(org, details, made.at));
    const moment = await momentOf(sealed.store, (await sealed.store.head()).position, 'at');
    await world.clock.advance(1_000);
    const erased = world.command();
    await changeCard(sealed, { code: gone, org }, erased, erase('a request'));
    await execute(sealed, contact, id, erased, eraseContact('a request', erased.at));
    const rows = new Map<string, unknown>();
    const readModels = {
      get: async (_: unknown, key: string) => rows.get(key) ?? null,
    } as unknown as ReadModels;
    const deps = { ...sealed, readModels };
    const all = { limit: 10, type: null, startingAfter: null };
    const listed = async (code: CardCode) => listEvents(deps, org, { ...all, card: code });
    const [event] = await listed(gone);
    const revision = 0;
    rows.set(event?.id ?? '', {
      document: { ...event, org, card: gone, revision, created: made.at },
    });
    const followed: ShownEvent[] = [];
    await world.clock.advance(10_000);
    const stop = new AbortController();
    for await (const each of await followEvents(deps, org, { type: null, card: gone }, null, stop.signal)) {
      followed.push(each);
      stop.abort();
    }
    const filter = { category: null, stream: cardStream(gone), organization: null, types: null };
    const until = (await sealed.store.head()).position;
    const { signal } = new AbortController();
    const watched: LoggedEvent[] = [];
    const watch = new LogWatch(sealed.store, { after: 0n, until, filter, closesErased: true, signal });
    for await (const each of watch) watched.push(each);
    const past = await cardForOperator(sealed, gone, moment);
    const was = await documentAt(sealed.store, contacts, contactStream, moment);
    const shown = [
      await listed(gone),
      await readEvent(deps, org, event?.id ?? ''),
      followed,
      watched,
      (await cardHistory(sealed, gone, null)).map(({ data }) => data),
      (await cardHistory(sealed, gone, moment)).map(({ data }) => data),
      past,
      was,
    ];
    const text = (what: unknown): string =>
      JSON.stringify(what, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
    for (const [index, each] of shown.entries()) {
      expect(text(each).length, String(index)).to.be.above(50);
      expect(text(each), String(index)).to.not.include('Ada');
    }
    expect([past.was.card.status, past.was.card.erasedAt, was?.was.erasedAt]).to.deep.equal([
      'cancelled',
      erased.at,
      erased.at,
    ]);
    expect(text(await listed(kept))).to.include('Ada Lovelace');
    expect(text(await cardHistory(sealed, kept, moment))).to.include('Ada Lovelace');
  });
});

describe('the shredder', () => {
  it('destroys the keys of what was erased and no others, and changes nothing in the log', async () => {
    const { world, sealed, keys, ringOver, gone, kept } = await sealedWorld();
    const before = JSON.stringify(
      (await world.store.readLog(0n, 100)).map(({ data, metadata }) => [data, metadata]),
    );
    await changeCard(sealed, { code: gone, org }, world.command(), erase('a request'));
    await shredded(world, keys, ringOver(keys, 2));
    const after = ringOver(keys, 3);
    expect(await firstData(world, after, cardStream(gone))).to.include({ personal: null });
    expect(JSON.stringify(await firstData(world, after, cardStream(kept)))).to.include('Ada Lovelace');
    const log = (await world.store.readLog(0n, 100)).slice(0, -1);
    expect(JSON.stringify(log.map(({ data, metadata }) => [data, metadata]))).to.equal(before);
  });

  it('destroys what was erased while its keys were given up, once their master key is found again', async () => {
    const { world, sealed, keys, gone, kept } = await sealedWorld();
    const newer = { id: 'b', key: Buffer.alloc(32, 2) };
    const ringWith = (known: MasterKeys, seed: number): KeyRing =>
      keyRing({ store: keys, masters: known, clock: world.clock, entropy: new SeededEntropy(seed) });
    const initiator = { actor: { kind: 'operator', id: null }, requestId: null } as const;
    const { events } = await giveUpKeys({ ...sealed, keys, masters: [newer] }, initiator, 'Ada');
    expect(events).to.be.greaterThan(0);
    await changeCard(sealed, { code: gone, org }, world.command(), erase('a request'));
    const without = ringWith([newer], 3);
    await shredded(world, keys, without);
    expect(await firstData(world, without, cardStream(kept))).to.include({ personal: null });
    // The older key may go once its blocks are encrypted with the newer one.
    const { unreadable } = await rotateKeys({
      store: keys,
      masters: [newer, ...masters],
      entropy: new SeededEntropy(4),
    });
    expect([unreadable, (await keys.wrappers()).toSorted()]).to.deep.equal([0, [':b', 'b']]);
    await shredded(world, keys, ringWith([newer], 5));
    expect(await keys.wrappers()).to.deep.equal(['b']);
    const after = ringWith([newer], 6);
    expect(await firstData(world, after, cardStream(gone))).to.include({ personal: null });
    expect(JSON.stringify(await firstData(world, after, cardStream(kept)))).to.include('Ada Lovelace');
  });

  it('is shown at no moment while its keys are there, however long its stream is', async () => {
    const { world, sealed } = await sealedWorld();
    const id = contactIdOf(org, 'c-1');
    const save = async (name: string) =>
      execute(
        sealed,
        contact,
        id,
        world.command(),
        saveContact(org, { ...details, name }, world.clock.instant()),
      );
    const saveAll = async (from: number, to: number): Promise<void> => {
      for (let at = from; at < to; at += 1) await save(`Ada Lovelace ${at}`);
    };
    await saveAll(0, 100);
    const moment = await momentOf(sealed.store, (await sealed.store.head()).position, 'at');
    // More than are read at once.
    await saveAll(100, 250);
    const shown = () => documentAt(sealed.store, contacts, streamName('contact', id), moment);
    expect((await shown())?.was.details?.name).to.equal('Ada Lovelace 99');
    const erased = world.command();
    await execute(sealed, contact, id, erased, eraseContact('a request', erased.at));
    expect((await shown())?.was).to.include({ details: null, erasedAt: erased.at });
  });

  it('destroys the key of an address that was removed from the do-not-mail list, and none of one added since', async () => {
    const { world, sealed, keys, ringOver } = await sealedWorld();
    const id = doNotMailId(org, 'ada@example.com');
    const add = addToDoNotMail('ada@example.com');
    for (const decide of [add, removeFromDoNotMail, add])
      await execute(sealed, doNotMail, id, world.command(), decide);
    await shredded(world, keys, ringOver(keys, 2));
    const opened = openedEvents(world.store, ringOver(keys, 3), world.clock);
    const at = async (revision: number) =>
      (await opened.readStream(streamName('do-not-mail', id), revision, 1))[0]?.data;
    expect([await at(0), await at(2)]).to.deep.equal([
      { personal: null },
      { personal: { email: 'ada@example.com' } },
    ]);
  });

  for (const bytesPerEvent of [1, 437])
    it(`does not save its place after every batch without an erasure, if events are ${bytesPerEvent} apart`, async () => {
      const { world, sealed, keys, ringOver, gone } = await sealedWorld({ credits: 200, bytesPerEvent });
      for (let sent = 0; sent < 150; sent += 1) await sendCard(sealed, sendRequest(world));
      await changeCard(sealed, { code: gone, org }, world.command(), erase('a request'));
      const saved: bigint[] = [];
      const save = keys.saveMark.bind(keys);
      keys.saveMark = (mark, ...rest) => {
        saved.push(mark.position);
        return save(mark, ...rest);
      };
      await shredded(world, keys, ringOver(keys, 2));
      expect(saved).to.deep.equal([(await world.store.head()).position]);
    });

  it('destroys the keys of what waits of an erased contact, in the files of its organization alone', async () => {
    const { world, sealed, keys, ringOver } = await sealedWorld();
    const importRecords = new MemoryImportRecords(world.clock);
    const id = contactIdOf(org, 'c-1');
    await execute(sealed, contact, id, world.command(), saveContact(org, details, world.clock.instant()));
    const personalKeys = ringOver(keys, 4);
    const importing = { ...sealed, importRecords, personalKeys };
    const uploads = await Promise.all(
      [org, OrganizationId.parse('another')].map(async (at) => {
        const rows = ['c-0', 'c-1'].map((externalId, index) => ({
          line: index + 2,
          bytes: 0,
          externalId,
          contact: { external_id: externalId, name: 'Ada Lovelace' },
        }));
        const uploaded = {
          id: importIdOf(at, 'a form'),
          file: 'a.csv',
          rows: Readable.from(rows),
          unread: {},
          readContact,
        };
        await beginImport(importing, { actor: world.command().actor, requestId: null }, at, uploaded);
        return (await findImport(importing, at, uploaded.id))?.upload ?? '';
      }),
    );
    await execute(
      sealed,
      contact,
      id,
      world.command(),
      deleteContact(world.clock.instant(), world.clock.instant()),
    );
    await shredded(world, keys, ringOver(keys, 2), importRecords);
    const after = { importRecords, personalKeys: ringOver(keys, 3), clock: world.clock };
    const waiting = await Promise.all(uploads.map((upload) => readPart(after, upload, 0)));
    expect(waiting.map((rows) => rows?.map((row) => 'contact' in row))).to.deep.equal([
      [true, false],
      [true, true],
    ]);
  });

  it('stops at an event of a contact that it does not know: it may erase something', async () => {
    const { world, sealed, keys, ringOver } = await sealedWorld();
    const command = world.command();
    await execute(sealed, contact, contactIdOf(org, 'c-1'), command, saveContact(org, details, command.at));
    const log = await world.store.readLog(0n, 100);
    const later = log.map((event) => ({
      ...event,
      type: event.type.replace('ContactCreated', 'ContactMelted'),
    }));
    const store = new Proxy(world.store, {
      get: (target, name) =>
        name === 'follow' ? () => Readable.from([later]) : Reflect.get(target, name).bind(target),
    });
    const stop = new AbortController();
    const told: unknown[] = [];
    const deps = { personalKeys: ringOver(keys, 2), place: keys, clock: world.clock };
    const importRecords = new MemoryImportRecords(world.clock);
    await runShredder({ ...deps, store, importRecords }, stop.signal, (error) => {
      told.push(error);
      stop.abort();
    });
    expect([told[0] instanceof UnknownEvent, await keys.mark()]).to.deep.equal([true, null]);
  });

  it('leaves the details of a contact that were saved after the erasure', async () => {
    const { world, sealed, keys, ringOver } = await sealedWorld();
    const id = '6c0f6a3e-0000-4000-8000-0000000000e1';
    const command = world.command();
    await execute(sealed, contact, id, command, saveContact(org, details, command.at));
    await execute(sealed, contact, id, world.command(), eraseContact('a request', command.at));
    await execute(sealed, contact, id, world.command(), saveContact(org, details, command.at));
    const last = sealed.command();
    await execute(
      sealed,
      contact,
      '6c0f6a3e-0000-4000-8000-0000000000e2',
      last,
      saveContact(org, details, last.at),
    );
    await execute(
      sealed,
      contact,
      '6c0f6a3e-0000-4000-8000-0000000000e2',
      world.command(),
      eraseContact('a request', last.at),
    );
    await shredded(world, keys, ringOver(keys, 2));
    const opened = openedEvents(world.store, ringOver(keys, 3), world.clock);
    const personal = (await opened.readStream(streamName('contact', id), 0)).map(({ data }) =>
      'personal' in data ? data.personal : undefined,
    );
    expect(personal).to.deep.equal([null, undefined, details]);
  });

  it('erases again what was erased since a backup of the keys, because its place lies there', async () => {
    const { world, sealed, keys, ringOver, gone } = await sealedWorld();
    const backup = copyOf(keys);
    await changeCard(sealed, { code: gone, org }, world.command(), erase('a request'));
    await shredded(world, keys, ringOver(keys, 2));
    const stream = cardStream(gone);
    expect(JSON.stringify(await firstData(world, ringOver(backup, 3), stream))).to.include('Ada Lovelace');
    await shredded(world, backup, ringOver(backup, 4));
    expect(await firstData(world, ringOver(backup, 5), stream)).to.include({ personal: null });
  });
});
