import { unsealed } from '../../support/fixtures/seal-events.js';
import { expect } from 'chai';
import { BufferedRequests, notingWrites, Writings } from '../../../application/requests/request-log.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { Streams } from '../../../application/writing/streams.js';
import type { RequestRecord } from '../../../application/ports/requests.js';
import type { Instant } from '../../../domain/ids.js';
import { ledgerStream } from '../../../domain/credits.js';
import { moneyOver } from '../../support/fixtures/money.js';
import { makeWorld, org, sendRequest } from '../../support/fixtures/world.js';
import { VirtualClock } from '../../support/memory/clock.js';
import { memoryRequests } from '../../support/memory/requests.js';

const record = (id: string): RequestRecord => ({
  id,
  at: '2026-03-01T12:00:00.000Z' as Instant,
  method: 'GET',
  route: '/api/v1/cards',
  status: 200,
  code: null,
  ms: 1,
  actor: null,
  org: null,
  address: '127.0.0.1',
  idempotencyKey: null,
  wrote: [],
  subjects: [],
});

describe('the request log', () => {
  it('goes on noting what requests write, however many notes nobody has taken', () => {
    const writings = new Writings();
    const written = { stream: ledgerStream(org), revision: 1 };
    for (let count = 0; count <= 50_000; count += 1) writings.note(`req_${count}`, written);
    expect([writings.take('req_0'), writings.take('req_50000')]).to.deep.equal([[], [written]]);
  });

  it('keeps so many requests a minute that are not let in, and all others', async () => {
    const rows = memoryRequests();
    const clock = new VirtualClock();
    const requests = new BufferedRequests(rows, { hashed: async () => '' }, clock, () => undefined);
    const kept = async (ids: readonly string[]) =>
      (await Promise.all(ids.map((id) => requests.find(id)))).filter((found) => found !== null).length;
    const send = (name: string, actor: RequestRecord['actor'], status = 200) => {
      const ids = Array.from({ length: 1_000 }, (_, at) => `req_${name}${at}`);
      for (const id of ids) requests.record({ ...record(id), actor, status });
      return kept(ids);
    };
    expect(await send('stranger', null)).to.equal(300);
    expect(await send('operator', { kind: 'operator', id: 'token' })).to.equal(1_000);
    await clock.advance(60_000);
    expect(await send('later', null)).to.equal(300);
    for (const status of [401, 429]) {
      await clock.advance(60_000);
      expect(await send(`hook${status}`, { kind: 'hook', id: 'deleted' }, status)).to.equal(300);
    }
    await requests.close();
  });

  it('finds a request at once, saves it within a second, and keeps it while the database is away', async () => {
    const rows = memoryRequests();
    const clock = new VirtualClock();
    const errors: unknown[] = [];
    let isAway = true;
    const failing = {
      ...rows,
      save: async (records: readonly RequestRecord[]) => {
        if (isAway) throw new Error('away');
        await rows.save(records);
      },
    };
    const requests = new BufferedRequests(
      failing,
      { hashed: async (...parts) => `hashed ${parts.join(' ')}` },
      clock,
      (error) => errors.push(error),
    );
    requests.record(record('req_1'));
    expect((await requests.find('req_1'))?.id).to.equal('req_1');
    await clock.advance(1_000);
    expect([await rows.find('req_1'), errors.length > 0]).to.deep.equal([null, true]);
    isAway = false;
    await clock.advance(2_000);
    expect((await rows.find('req_1'))?.id).to.equal('req_1');
    requests.record(record('req_2'));
    const closed = requests.close();
    await clock.advance(1_000);
    await closed;
    expect((await rows.find('req_2'))?.id).to.equal('req_2');
  });

  it('shows those that it has while a full disk takes no more', async () => {
    const rows = memoryRequests();
    const saved = { ...record('req_1'), subjects: ['HC-1'] };
    await rows.save([saved]);
    const full = { ...rows, save: () => Promise.reject(new Error('database or disk is full')) };
    const keys = { hashed: async () => '' };
    const requests = new BufferedRequests(full, keys, new VirtualClock(), () => undefined);
    requests.record({ ...record('req_2'), subjects: ['HC-1'] });
    expect(await requests.about('HC-1', null, null, 10)).to.deep.equal([saved]);
    await requests.close();
  });

  for (const atomic of [true, false])
    it(`knows what a request wrote, on a store that writes ${atomic ? 'several streams' : 'one stream'} at a time`, async () => {
      const world = await makeWorld({ atomic, credits: 5 });
      const writings = new Writings();
      const store = notingWrites(world.store, writings);
      const streams = new Streams(store, unsealed);
      const writing = { ...world, store, streams };
      const deps = { ...writing, ...moneyOver(writing, { atomic }) };
      const send = async (requestId: string) => {
        const request = sendRequest(world);
        return sendCard(deps, { ...request, command: { ...request.command, requestId } });
      };
      const [first, second] = await Promise.all([send('req_1'), send('req_2')]);
      const wrote = (id: string) => writings.take(id).map(({ stream, revision }) => `${stream}@${revision}`);
      const [one, two] = [wrote('req_1'), wrote('req_2')];
      expect(one).to.have.members([
        `card-${first.code}@0`,
        one.find((place) => place.startsWith('credits-')),
      ]);
      expect(two).to.include(`card-${second.code}@0`);
      const spends = [...one, ...two].filter((place) => place.startsWith(ledgerStream(org)));
      expect(spends.toSorted()).to.deep.equal([`${ledgerStream(org)}@1`, `${ledgerStream(org)}@2`]);
      expect(wrote('req_1')).to.deep.equal([]);
    });
});
