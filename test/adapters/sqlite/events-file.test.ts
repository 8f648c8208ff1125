import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { EventStoreUnavailable, noStream } from '../../../application/ports/event-store.js';
import type { KeyClaim } from '../../../application/ports/idempotency-store.js';
import { keptLonger, answerTtl } from '../../../application/ports/idempotency-store.js';
import type { CommandId, Instant, OrganizationId } from '../../../domain/ids.js';
import { eventually } from '../../support/time/eventually.js';
import { appendNotes, firstNote, noteStream } from './notes.js';
import { inNewDirectory, openDirectory, openNew, start, type OpenedFile } from './setup.js';

const refusalOf = async (promise: Promise<unknown>): Promise<unknown> => {
  let refused: unknown = null;
  await promise.catch((error: unknown) => (refused = error));
  return refused;
};

describe('the events file', () => {
  let file: OpenedFile;
  beforeEach(async () => (file = await openNew()));
  afterEach(() => file.close());

  it('counts positions from 1 without a gap, even if appends between are refused', async () => {
    await Promise.all(
      Array.from({ length: 100 }, (_, id) => [
        file.eventStore.append([firstNote(id)]),
        file.eventStore.append([{ ...firstNote(`no ${id}`), expected: 3 }]),
      ]).flat(),
    );
    expect((await file.eventStore.readLog(0n, 1000)).map(({ position }) => position)).to.deep.equal(
      Array.from({ length: 100 }, (_, index) => BigInt(index + 1)),
    );
  });

  it('commits appends that arrive together in far fewer commits', async () => {
    let commits = 0;
    file.writer.onCommitted(() => (commits += 1));
    await Promise.all(Array.from({ length: 500 }, (_, id) => file.eventStore.append([firstNote(id)])));
    expect(commits).to.be.within(1, 20);
  });

  it('lets a write that throws fail alone', async () => {
    const conflictingKey: KeyClaim = {
      org: 'org-1' as OrganizationId,
      key: 'key',
      body: 'body',
      code: 'HC-1',
      owner: 'command' as CommandId,
      ledgerRevision: 0,
      claimedAt: new Date(start).toISOString() as Instant,
    };
    await file.eventStore.append([firstNote('first')], [conflictingKey]);
    const outcomes = await Promise.allSettled([
      file.eventStore.append([firstNote('a')]),
      file.eventStore.append([firstNote('b')], [{ ...conflictingKey, code: 'HC-2' }]),
      file.eventStore.append([firstNote('c')]),
    ]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect((await file.eventStore.readLog(0n, 10)).map(({ stream }) => stream)).to.deep.equal(
      ['first', 'a', 'c'].map(noteStream),
    );
    expect(await file.eventStore.append([firstNote('b')])).to.deep.equal([
      { kind: 'appended', position: 4n },
    ]);
  });

  it('refuses an append without writes or events, or with a stream twice', async () => {
    const write = firstNote('a');
    expect(await refusalOf(file.eventStore.append([]))).to.be.instanceOf(RangeError);
    expect(await refusalOf(file.eventStore.append([{ ...write, events: [] }]))).to.be.instanceOf(RangeError);
    expect(await refusalOf(file.eventStore.append([write, write]))).to.be.instanceOf(RangeError);
  });

  it('stores personal data apart from the rest of an event', async () => {
    await file.eventStore.append([firstNote('a', { n: 1, personal: { name: 'Ada' } })]);
    const row: unknown = file.database.prepare('select data, personal from events').get();
    expect(row).to.deep.equal({ data: '{"n":1}', personal: '{"name":"Ada"}' });
  });

  it('deletes a few expired keys with each completed one', async () => {
    const complete = async (key: number, at: number) => {
      const claim: KeyClaim = {
        org: 'org-1' as OrganizationId,
        key: `key ${key}`,
        body: 'body',
        code: `HC-${key}`,
        owner: 'command' as CommandId,
        ledgerRevision: 0,
        claimedAt: new Date(at).toISOString() as Instant,
      };
      file.clock.set(at);
      await file.idempotencyStore.claim(claim);
      await file.idempotencyStore.complete(claim);
    };
    for (let key = 0; key < 9; key += 1) await complete(key, start);
    const kept = (): unknown => file.database.prepare('select count(*) as keys from idempotency_keys').get();
    expect(kept()).to.deep.equal({ keys: 9 });
    for (let key = 10; key < 14; key += 1) await complete(key, start + answerTtl + keptLonger);
    expect(kept()).to.deep.equal({ keys: 4 });
  });

  it('wakes readers in other threads after a commit', async () => {
    await appendNotes(file.eventStore, 2);
    const thread = new Worker(new URL('./reader-thread.js', import.meta.url), { workerData: file.shared });
    const said: unknown[] = [];
    const positions: number[] = [];
    thread.on('message', (message: { readonly positions?: readonly number[] }) => {
      if (message.positions === undefined) said.push(message);
      else positions.push(...message.positions);
    });
    await eventually(() => positions.length === 2);
    await appendNotes(file.eventStore, 1, 2);
    await eventually(() => positions.length === 3);
    await Promise.all(
      Array.from({ length: 100 }, (_, id) => file.eventStore.append([firstNote(`more ${id}`)])),
    );
    await eventually(() => positions.length === 103);
    expect(positions).to.deep.equal(Array.from({ length: 103 }, (_, index) => index + 1));
    const ended = once(thread, 'exit');
    thread.postMessage('stop');
    await ended;
    expect(said).to.deep.equal([{ head: 2 }, { ended: true }]);
  });

  it('yields to followers the same events as the file holds', async () => {
    const stop = new AbortController();
    const seen: unknown[] = [];
    const following = (async () => {
      for await (const events of file.eventStore.follow(0n, { signal: stop.signal })) seen.push(...events);
    })();
    await Promise.all(
      Array.from({ length: 5000 }, (_, id) =>
        file.eventStore.append([firstNote(id, { id, gone: undefined, personal: { name: `${id}` } })]),
      ),
    );
    await eventually(() => seen.length === 5000);
    stop.abort();
    await following;
    expect(seen).to.deep.equal(await file.eventStore.readLog(0n, 10_000));
  });

  it('refuses appends once it is closed', () =>
    inNewDirectory(async (directory) => {
      const other = await openDirectory(directory);
      await other.close();
      expect(await refusalOf(other.eventStore.append([firstNote('a')]))).to.be.instanceOf(
        EventStoreUnavailable,
      );
    }));

  it('commits waiting appends before it closes', () =>
    inNewDirectory(async (directory) => {
      const first = await openDirectory(directory);
      const appends = Array.from({ length: 50 }, (_, id) => first.eventStore.append([firstNote(id)]));
      await first.close();
      await Promise.all(appends);
      const second = await openDirectory(directory);
      expect((await second.eventStore.head()).position).to.equal(50n);
      expect(
        (await second.eventStore.append([{ ...firstNote(1), expected: noStream }])).map(({ kind }) => kind),
      ).to.deep.equal(['appended']);
      expect((await second.eventStore.head()).position).to.equal(50n);
      await second.close();
    }));
});
