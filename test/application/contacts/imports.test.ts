import { expect } from 'chai';
import { readContact } from '../../../adapters/http/api/contact-fields.js';
import type { FileRow } from '../../../application/contacts/import-contacts.js';
import {
  badLinesOf,
  beginImport,
  findImport,
  importIdOf,
  stopImport,
} from '../../../application/contacts/imports.js';
import { keyRing } from '../../../application/personal/key-ring.js';
import { ImportsUnavailable } from '../../../application/ports/records.js';
import { workOnImports } from '../../../application/contacts/run-imports.js';
import { saveContactRecord } from '../../../application/contacts/save-contact.js';
import { contact, contactIdOf, eraseContact } from '../../../domain/contact.js';
import { execute } from '../../../application/writing/execute.js';
import { EventStoreUnavailable, storeWith, type EventStore } from '../../../application/ports/event-store.js';
import { OrganizationId, streamName } from '../../../domain/ids.js';
import { readPart } from '../../../application/contacts/waiting-rows.js';
import type { MasterKeys } from '../../../domain/webhook-signing.js';
import { makeWorld, org } from '../../support/fixtures/world.js';
import { SeededEntropy } from '../../support/memory/entropy.js';
import { MemoryPersonalKeys } from '../../support/memory/personal-keys.js';
import { MemoryImportRecords } from '../../support/memory/records.js';
import { removeContact } from '../../support/fixtures/remove-contact.js';

const by = { actor: { kind: 'member' as const, id: 'ann' }, requestId: 'req_1' };
const never = new AbortController().signal;
const minute = 60_000;
const masters: MasterKeys = [{ id: 'a', key: Buffer.alloc(32, 1) }];

const row = (line: number, externalId: string, name = `Ann ${externalId}`): FileRow => ({
  line,
  bytes: line,
  externalId,
  contact: { external_id: externalId, name },
});
const badRow = (line: number): FileRow => ({ line, bytes: line, problem: 'no name' });

const numbered = (count: number): FileRow[] =>
  Array.from({ length: count }, (_, index) => row(index + 2, `c-${index}`));

async function* from<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

const unread = {};
const address = { line1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' };

const start = async () => {
  const world = await makeWorld({ atomic: true });
  const keys = new MemoryPersonalKeys();
  const ring = (seed: number) =>
    keyRing({ store: keys, masters, clock: world.clock, entropy: new SeededEntropy(seed) });
  const importRecords = new MemoryImportRecords(world.clock);
  const deps = { ...world, readContact, importRecords, personalKeys: ring(1) };
  let forms = 0;
  const begin = async (rows: readonly FileRow[], at = org): Promise<string> => {
    const id = importIdOf(at, `form ${(forms += 1)}`);
    await beginImport(deps, by, at, { id, file: 'contacts.csv', rows: from(rows), unread, readContact });
    return id;
  };
  const shown = async (id: string, at = org) => {
    const found = await findImport(deps, at, id);
    if (found === null) throw new Error('there is no such import');
    const { status, rows, through, created, updated, same, bad } = found;
    return { status, rows, through, created, updated, same, bad };
  };
  const eventsOf = async (externalId: string) =>
    (await world.store.readStream(streamName('contact', contactIdOf(org, externalId)), 0)).map(
      ({ type }) => type,
    );
  const uploadOf = async (id: string) => (await findImport(deps, org, id))?.upload ?? '';
  const waiting = () => importRecords.listOf('import-upload', 'imports');
  /** Expects of a file of so many rows, uploaded first, that it is saved as a whole, or told as not kept. */
  const expectAllOrNothing = async (id: string, rows: number, answer: Promise<void>, why: string) => {
    const refusal = await answer.catch((error: unknown) => error);
    await workOnImports(deps, never);
    const found = await findImport(deps, org, id);
    if (refusal === undefined) expect(found, why).to.include({ status: 'done', created: rows });
    else expect([refusal instanceof ImportsUnavailable, found], why).to.deep.equal([true, null]);
    expect(await waiting(), why).to.deep.equal([]);
    expect(importRecords.countOf('import-part'), why).to.equal(0);
  };
  const badLines = async (id: string) => {
    const found = await findImport(deps, org, id);
    const lines = [];
    if (found !== null) for await (const some of badLinesOf(deps, found)) lines.push(...some);
    return lines;
  };
  /** A copy of the parts as they are now, and what can be read of it. */
  const copyOf = async (upload: string) => {
    const copy = new MemoryImportRecords(world.clock);
    const parts = await importRecords.listOf('import-part', upload);
    for (const part of parts) await copy.add({ ...part, ends: null });
    const read = { importRecords: copy, personalKeys: ring(2), clock: world.clock };
    return () => Promise.all(parts.map((_, part) => readPart(read, upload, part)));
  };
  return { world, deps, begin, shown, eventsOf, uploadOf, copyOf, waiting, badLines, expectAllOrNothing };
};

/** A file of which the client sends only the beginning. */
const breakingOff = {
  file: 'b.csv',
  unread,
  readContact,
  get rows() {
    return (async function* (): AsyncGenerator<FileRow> {
      yield* numbered(600);
      throw new Error('the client went away');
    })();
  },
};

/** The records as a process reaches them: it stands still after each call for as long as `until` takes. */
const standingStill = (
  records: MemoryImportRecords,
  until: (call: number) => Promise<void>,
): MemoryImportRecords => {
  let calls = 0;
  return new Proxy(records, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...given: unknown[]): Promise<unknown> => {
        const result: unknown = await Reflect.apply(method, target, given);
        await until((calls += 1));
        return result;
      };
    },
  });
};

/** A store that is gone after so many appends. */
const goneAfter = (store: EventStore, appends: number): EventStore => {
  let left = appends;
  return storeWith(store, {
    append: async (...writes) => {
      left -= 1;
      if (left < 0) throw new EventStoreUnavailable('the process is gone');
      return store.append(...writes);
    },
  });
};

describe('an import of contacts', () => {
  it('saves every row in the background, and says what came of them', async () => {
    const { deps, begin, shown, world, badLines } = await start();
    const save = (id: string, name: string) =>
      saveContactRecord(world, org, world.command(), readContact({ external_id: id, name }));
    await save('c-0', 'Somebody else');
    await save('c-1', 'Ann c-1');
    const id = await begin([...numbered(1_200), badRow(1_202)]);
    expect(await shown(id)).to.deep.include({ status: 'running', rows: 1_201, through: 0 });
    await workOnImports(deps, never);
    expect(await shown(id)).to.deep.equal({
      status: 'done',
      rows: 1_201,
      through: 1_201,
      created: 1_198,
      updated: 1,
      same: 1,
      bad: 1,
    });
    expect(await badLines(id)).to.deep.equal([{ line: 1_202, reason: 'no name' }]);
    expect(await deps.importRecords.listOf('import-upload', 'imports')).to.deep.equal([]);
    expect(await findImport(deps, OrganizationId.parse('another'), id)).to.equal(null);
  });

  it('keeps the first columns that are not read, and how many more there are', async () => {
    const { deps } = await start();
    const columns = Array.from({ length: 499 }, (_, at) => String(at).padStart(84, '0'));
    const why = Object.fromEntries(columns.map((column) => [column, 'unknown']));
    const id = importIdOf(org, 'of many columns');
    const file = { id, file: 'a.csv', rows: from(numbered(1)), unread: why, readContact };
    await beginImport(deps, by, org, file);
    const kept = Object.keys((await findImport(deps, org, id))?.unread ?? {});
    expect(kept).to.deep.equal([...columns.slice(0, 175), 'and 324 more']);
  });

  it('goes on after its process has died anywhere, with every line saved once and counted once', async () => {
    const whole = { status: 'done', rows: 700, through: 700, created: 699, updated: 1, same: 0, bad: 0 };
    for (const appends of [0, 1, 30, 199, 200, 640]) {
      const { world, deps, begin, shown, eventsOf } = await start();
      // The first and the last row have the same external_id, and differ.
      const id = await begin([...numbered(699), row(701, 'c-0', 'The last one')]);
      const store = goneAfter(world.store, appends);
      const dying = { ...deps, store, streams: world.streams };
      await workOnImports(dying, never).catch(() => undefined);
      const after = world.restarted();
      await workOnImports({ ...deps, ...after }, never);
      expect(await shown(id), `after ${appends}`).to.deep.equal(whole);
      expect(await eventsOf('c-1')).to.deep.equal(['ContactCreated']);
      expect(await eventsOf('c-0')).to.deep.equal(['ContactCreated', 'ContactReplaced']);
    }
  });

  it('makes a contact anew in few reads, however often it was deleted before the upload', async () => {
    const { world, deps, begin, shown } = await start();
    const details = readContact({ external_id: 'c-0', name: 'X' });
    for (let deleted = 0; deleted < 200; deleted += 1) {
      const { id, contact } = await saveContactRecord(world, org, world.command(), details);
      await removeContact(world, id, world.command(), contact.updatedAt);
    }
    const id = await begin(numbered(1));
    let reads = 0;
    const readStream = world.store.readStream.bind(world.store);
    world.store.readStream = (...asked) => {
      reads += 1;
      return readStream(...asked);
    };
    await workOnImports(deps, never);
    expect(await shown(id)).to.deep.include({ status: 'done', created: 1, bad: 0 });
    expect(reads).to.be.within(1, 50);
  });

  it('leaves erased contacts as they are, and makes deleted ones anew', async () => {
    const { world, deps, begin, shown } = await start();
    const made = [];
    for (const id of ['c-0', 'c-1'])
      made.push(
        await saveContactRecord(world, org, world.command(), readContact({ external_id: id, name: 'X' })),
      );
    const [erased, deleted] = made;
    if (erased === undefined || deleted === undefined) throw new Error('nothing was saved');
    const command = world.command();
    await execute(world, contact, erased.id, command, eraseContact('a request', command.at));
    await removeContact(world, deleted.id, world.command(), deleted.contact.updatedAt);
    world.clock.skip(1_000);
    const id = await begin(numbered(2));
    await workOnImports(deps, never);
    expect(await shown(id)).to.deep.include({ status: 'done', created: 1, bad: 1 });
  });

  it('stops when somebody stops it, and leaves nothing of the file behind', async () => {
    const { deps, begin, shown, uploadOf, waiting } = await start();
    const id = await begin(numbered(600));
    await stopImport(deps, org, id);
    await workOnImports(deps, never);
    expect(await shown(id)).to.deep.include({ status: 'stopped', through: 0 });
    expect(await deps.importRecords.listOf('import-part', await uploadOf(id))).to.deep.equal([]);
    expect(await waiting()).to.deep.equal([]);
  });

  it('tells the rows that were under way when it was stopped', async () => {
    const { world, deps, begin, shown } = await start();
    const id = await begin(numbered(1_200));
    const store = storeWith(world.store, {
      append: async (...writes) => {
        await stopImport(deps, org, id);
        return world.store.append(...writes);
      },
    });
    await workOnImports({ ...deps, store }, never);
    expect(await shown(id)).to.deep.include({ status: 'stopped', through: 200, created: 200 });
  });

  it('is begun once by its form, keeps nothing of a file that breaks off, and few are under way at once', async () => {
    const { deps, begin, waiting } = await start();
    const id = importIdOf(org, 'one form');
    for (let times = 0; times < 2; times += 1)
      await beginImport(deps, by, org, { id, file: 'a.csv', rows: from(numbered(3)), unread, readContact });
    expect((await deps.importRecords.listOf('import', org)).length).to.equal(1);
    const other = importIdOf(org, 'another form');
    const failed = await beginImport(deps, by, org, { id: other, ...breakingOff }).catch(String);
    expect(failed).to.include('the client went away');
    expect(await findImport(deps, org, other)).to.equal(null);
    expect(await waiting()).to.have.length(1);
    await begin(numbered(1));
    await begin(numbered(1));
    expect(await begin(numbered(1)).catch(String)).to.include('3 files are being imported');
  });

  it('counts the files that are being uploaded at the same time, whoever takes them', async () => {
    const { deps, begin, waiting } = await start();
    const begun = await Promise.allSettled(Array.from({ length: 12 }, () => begin(numbered(600))));
    const refused = begun.filter(({ status }) => status === 'rejected');
    expect(12 - refused.length).to.be.at.most(3);
    expect(await waiting()).to.have.length(12 - refused.length);
    expect(await deps.importRecords.listOf('import', org)).to.have.length(12 - refused.length);
  });

  for (const wasMade of [true, false])
    for (const isRepeated of [true, false])
      it(`is not lost if it is unknown that the last write of its upload was ${wasMade ? '' : 'not '}made${isRepeated ? ', and saved once if the form is repeated' : ''}`, async () => {
        const { deps, shown, waiting } = await start();
        const records = deps.importRecords;
        const id = importIdOf(org, 'a form');
        const begin = () =>
          beginImport(deps, by, org, { id, file: 'a.csv', rows: from(numbered(600)), unread, readContact });
        const add: typeof records.add = (record) => MemoryImportRecords.prototype.add.call(records, record);
        records.add = async (record) => {
          if (wasMade || record.kind !== 'import') await add(record);
          if (record.kind === 'import') throw new ImportsUnavailable('no response');
          return true;
        };
        expect(await begin().catch((error: unknown) => error)).to.be.instanceOf(ImportsUnavailable);
        records.add = add;
        if (isRepeated) await begin();
        await workOnImports(deps, never);
        expect(await shown(id)).to.deep.include({ status: 'done', created: 600 });
        expect([await waiting(), records.countOf('import-part')]).to.deep.equal([[], 0]);
      });

  it('is kept as a whole or not at all, wherever its upload stands still until it counts as broken off', async () => {
    let isOver = false;
    for (let stop = 1; !isOver; stop += 1) {
      isOver = true;
      const { world, deps, expectAllOrNothing } = await start();
      const importRecords = standingStill(deps.importRecords, async (call) => {
        if (call !== stop) return;
        isOver = false;
        world.clock.set(world.clock.now() + 21 * minute);
        await workOnImports(deps, never);
      });
      const id = importIdOf(org, 'a form');
      const file = { id, file: 'a.csv', rows: from(numbered(401)), unread, readContact };
      const answer = beginImport({ ...deps, importRecords }, by, org, file);
      await expectAllOrNothing(id, 401, answer, `after call ${stop}`);
    }
  });

  it('keeps no row of an upload once that was given up', async () => {
    const { world, deps } = await start();
    const kept: number[] = [];
    const rows = async function* (): AsyncGenerator<FileRow> {
      yield* numbered(250);
      world.clock.set(world.clock.now() + 21 * minute);
      await workOnImports(deps, never);
      for (const each of numbered(901).slice(250)) {
        kept.push(deps.importRecords.countOf('import-part'));
        yield each;
      }
    };
    const file = { id: importIdOf(org, 'a form'), file: 'a.csv', rows: rows(), unread, readContact };
    const refusal = await beginImport(deps, by, org, file).catch((error: unknown) => error);
    expect(refusal).to.be.instanceOf(ImportsUnavailable);
    // It is noticed with the next part.
    expect(kept).to.deep.equal(Array.from({ length: 150 }, () => 0));
  });

  for (const age of [0, 21])
    it(`is kept as a whole or not at all, wherever a worker stands still that saw it incomplete at ${age} minutes`, async () => {
      let isOver = false;
      for (let stop = 1; !isOver; stop += 1) {
        isOver = true;
        const { world, deps, expectAllOrNothing } = await start();
        const id = importIdOf(org, 'a form');
        let goOn = (): void => undefined;
        let worker = Promise.resolve();
        const importRecords = standingStill(deps.importRecords, async (call) => {
          if (call !== stop) return;
          isOver = false;
          goOn();
          await answer.catch(() => undefined);
          world.clock.set(world.clock.now() + 21 * minute);
        });
        const rows = async function* (): AsyncGenerator<FileRow> {
          yield* numbered(250);
          world.clock.set(world.clock.now() + age * minute);
          await new Promise<void>((resolve) => {
            goOn = resolve;
            worker = workOnImports({ ...deps, importRecords }, never).finally(resolve);
          });
          yield* numbered(401).slice(250);
        };
        const file = { id, file: 'a.csv', rows: rows(), unread, readContact };
        const answer = beginImport(deps, by, org, file);
        await answer.catch(() => undefined);
        await worker;
        await expectAllOrNothing(id, 401, answer, `after call ${stop}`);
        // A worker looks for more parts than any file has: its later looks are alike.
        if (stop === 12) break;
      }
    });

  it('leaves no rows of an upload whose process died, an hour later, and of one that wasn’t done in a week', async () => {
    const { world, deps, begin, uploadOf, copyOf, waiting } = await start();
    const dying = {
      ...deps,
      personalKeys: { ...deps.personalKeys, destroy: () => Promise.reject(new Error()) },
    };
    const id = importIdOf(org, 'a form that broke off');
    await beginImport(dying, by, org, { id, ...breakingOff }).catch(String);
    const [left] = await waiting();
    await workOnImports(deps, never);
    expect(await waiting()).to.deep.equal([left]);
    world.clock.skip(61 * 60 * 1000);
    await workOnImports(deps, never);
    expect(await waiting()).to.deep.equal([]);
    expect(await deps.importRecords.listOf('import-part', left?.id ?? '')).to.deep.equal([]);

    const upload = await uploadOf(await begin(numbered(600)));
    const copy = await copyOf(upload);
    world.clock.skip(7 * 24 * 60 * 60 * 1000 + 1);
    await workOnImports(deps, never);
    expect(await waiting()).to.deep.equal([]);
    expect((await copy()).flat().filter((each) => each !== null && 'contact' in each)).to.deep.equal([]);
  });

  it('keeps its rows sealed, without the year of a birthday, and nothing of a bad one but why', async () => {
    const { world, deps, begin, uploadOf, copyOf } = await start();
    const born = { external_id: 'c-1', name: 'Ann', birthday: '1987-05-06' };
    const wrong = { external_id: 'c-2', name: 'Boudicca', birthday: '1986-13-41' };
    const quoting = {
      external_id: 'c-4',
      name: 'Di',
      address: { ...address, state: 'Ada`s `flat`. 12 Elm' },
    };
    const abroad = {
      external_id: 'c-5',
      name: 'Ed',
      address: { ...address, country: 'Zoë`s: `Verulamium`' },
    };
    const shifted = { external_id: 'c-3', name: 'Cy', address: { ...address, state: 'Camulodunum 12' } };
    const id = await begin([
      { line: 2, bytes: 2, externalId: 'c-1', contact: born },
      { line: 3, bytes: 3, externalId: 'c-2', contact: wrong },
      { line: 4, bytes: 4, externalId: 'c-3', contact: shifted },
      { line: 5, bytes: 5, externalId: 'c-4', contact: quoting },
      { line: 6, bytes: 6, externalId: 'c-5', contact: abroad },
    ]);
    const upload = await uploadOf(id);
    const kept = JSON.stringify(await deps.importRecords.listOf('import-part', upload));
    expect(kept).to.include('invalid_');
    expect(kept).to.include('The state must be').and.include('The country must be US: cards');
    for (const word of [
      'c-1',
      'Ann',
      '05-06',
      '1986',
      'Boudicca',
      'Camulodunum',
      'Elm',
      'flat',
      'Verulamium',
    ])
      expect(kept).to.not.include(word);
    const copy = await copyOf(upload);
    expect(JSON.stringify(await copy()))
      .to.include('Ann')
      .and.include('05-06')
      .and.not.include('1987');
    await workOnImports(deps, never);
    world.clock.skip(10_000);
    expect((await copy()).flat().filter((each) => each !== null && 'contact' in each)).to.deep.equal([]);
  });

  it('never lets an older row win over a later one of the same part, after its process has died', async () => {
    const { world, deps, begin } = await start();
    const save = readContact({ external_id: 'k', name: 'One' });
    const { id: contactId } = await saveContactRecord(world, org, world.command(), save);
    const id = await begin([row(2, 'k', 'One'), row(5, 'k', 'Two')]);
    // It dies after both rows, before it notes that.
    const records = deps.importRecords;
    let changes = 0;
    const change: typeof records.change = (found, next) => {
      changes += 1;
      if (changes > 1) throw new Error('the process is gone');
      return MemoryImportRecords.prototype.change.call(records, found, next);
    };
    records.change = change;
    await workOnImports(deps, never).catch(() => undefined);
    records.change = (found, next) => MemoryImportRecords.prototype.change.call(records, found, next);
    await workOnImports({ ...deps, ...world.restarted() }, never);
    expect((await world.restarted().streams.load(contact, contactId)).state?.details?.name).to.equal('Two');
    expect((await findImport(deps, org, id))?.status).to.equal('done');
  });

  it('undoes nothing where two processes save the same rows, and one of them is late', async () => {
    const { world, deps, begin, eventsOf } = await start();
    await begin([row(2, 'k', 'One'), row(5, 'k', 'Two')]);
    const save = (name: string) =>
      saveContactRecord(world, org, world.command(), readContact({ external_id: 'k', name }));
    // Its first append waits until another process has taken over, and somebody has saved since.
    let isLate = false;
    const late: EventStore['append'] = async (...writes) => {
      if (!isLate) {
        isLate = true;
        await workOnImports({ ...deps, ...world.restarted() }, never);
        await save('Three');
      }
      return world.store.append(...writes);
    };
    await workOnImports({ ...deps, store: storeWith(world.store, { append: late }) }, never);
    expect(await eventsOf('k')).to.deep.equal(['ContactCreated', 'ContactReplaced', 'ContactReplaced']);
    const { state } = await world.restarted().streams.load(contact, contactIdOf(org, 'k'));
    expect(state?.details?.name).to.equal('Three');
  });

  it('skips no part and counts none twice where another process has done it all meanwhile', async () => {
    const { world, deps, begin, shown } = await start();
    const id = await begin(numbered(1_200));
    const records = deps.importRecords;
    const change: typeof records.change = (found, next) =>
      MemoryImportRecords.prototype.change.call(records, found, next);
    records.change = async (...begun) => {
      records.change = change;
      const isChanged = await change(...begun);
      await workOnImports({ ...deps, ...world.restarted() }, never);
      return isChanged;
    };
    await workOnImports(deps, never);
    expect(await shown(id)).to.deep.include({
      status: 'done',
      through: 1_200,
      created: 1_200,
      same: 0,
      bad: 0,
    });
  });

  it('tells no line as bad that a late process could not save, where another one had saved it', async () => {
    const { world, deps, begin, shown, badLines } = await start();
    const details = readContact({ external_id: 'c-0', name: 'Ann c-0' });
    const known = await saveContactRecord(world, org, world.command(), details);
    const id = await begin(numbered(1));
    const records = deps.importRecords;
    const change: typeof records.change = (found, next) =>
      MemoryImportRecords.prototype.change.call(records, found, next);
    // After it has begun, another one does it all, and the contact is deleted.
    records.change = async (...begun) => {
      records.change = change;
      const isChanged = await change(...begun);
      await workOnImports({ ...deps, ...world.restarted() }, never);
      world.clock.skip(1_000);
      await removeContact(world.restarted(), known.id, world.command(), known.contact.updatedAt);
      return isChanged;
    };
    await workOnImports({ ...deps, ...world.restarted() }, never);
    expect(await shown(id)).to.deep.include({ status: 'done', through: 1, same: 1, bad: 0 });
    expect(await badLines(id)).to.deep.equal([]);
  });

  it('goes on with the others while one fails, and ends that after twenty tries', async () => {
    const { deps, begin, shown } = await start();
    const bad = await begin([row(2, 'poison')]);
    const good = await begin(numbered(2));
    const failing: typeof readContact = (sent) => {
      if (sent['external_id'] === 'poison') throw new TypeError('a defect');
      return readContact(sent);
    };
    const told = await workOnImports({ ...deps, readContact: failing }, never).catch(String);
    expect(told).to.include('a defect');
    expect(await shown(good)).to.deep.include({ status: 'done', created: 2 });
    for (let tries = 1; tries < 20; tries += 1) {
      expect(await shown(bad)).to.deep.include({ status: 'running' });
      await workOnImports({ ...deps, readContact: failing }, never).catch(String);
    }
    expect(await shown(bad)).to.deep.include({ status: 'failed' });
    await workOnImports({ ...deps, readContact: failing }, never);
  });

  it('notes a thousand bad lines and counts them all, and refuses a file of too many rows', async () => {
    const { deps, begin, shown, badLines } = await start();
    const rows = (count: number) => Array.from({ length: count }, (_, index) => badRow(index + 2));
    const id = await begin(rows(1_700));
    await workOnImports(deps, never);
    expect(await shown(id)).to.deep.include({ status: 'done', bad: 1_700 });
    expect(await badLines(id)).to.have.length(1_000);
    expect(await begin(rows(200_001)).catch(String)).to.include('more than 200,000 rows');
  });

  for (const setBack of [0, 3_600_000])
    it(`leaves a contact deleted that was deleted after the file was uploaded${setBack === 0 ? '' : ', by a clock that was set back'}`, async () => {
      const { world, deps, begin, shown } = await start();
      const details = readContact({ external_id: 'c-0', name: 'X' });
      const saved = await saveContactRecord(world, org, world.command(), details);
      await world.clock.advance(1_000);
      const id = await begin(numbered(1));
      world.clock.set(world.clock.now() - setBack);
      await removeContact(world, saved.id, world.command(), saved.contact.updatedAt);
      await workOnImports(deps, never);
      expect(await shown(id)).to.deep.include({ status: 'done', created: 0, bad: 1 });
    });
});
