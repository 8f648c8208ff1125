import { expect } from 'chai';
import { SeededEntropy } from '../../support/memory/entropy.js';
import { documentAt, lastAt, momentOf, streamAt, type Moment } from '../../../application/history/as-of.js';
import { cardForOperator, cardHistory } from '../../../application/cards/card-record.js';
import { changeCard } from '../../../application/cards/change-card.js';
import { addCredits, readBalanceAt, withdrawCredits } from '../../../application/money/credits.js';
import { execute } from '../../../application/writing/execute.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { issueKey, revokeKey, apiKey } from '../../../domain/api-key.js';
import { cancel, hold, queue } from '../../../domain/card.js';
import type { CardCode } from '../../../domain/card-code.js';
import { ledgerStream } from '../../../domain/credits.js';
import { DomainError } from '../../../domain/errors.js';
import type { Aggregate, DomainEvent, LoggedEvent } from '../../../domain/events.js';
import { createHook, deleteHook, hook, pauseHook } from '../../../domain/hook.js';
import { categoryOf, derivedUuid, type Instant, type StreamName } from '../../../domain/ids.js';
import { archiveDesign, organization, saveDesign } from '../../../domain/organization.js';
import { register, remove, webhookEndpoints } from '../../../domain/webhook-endpoints.js';
import type { WebhookUrl } from '../../../domain/webhook-url.js';
import { allProjections } from '../../../projections/all.js';
import { cardDays } from '../../../projections/card-days.js';
import { makeWorld, org, sendRequest, type World } from '../../support/fixtures/world.js';

/** Those that keep one document per stream. */
const perStream = allProjections.filter(
  (projection) => projection.oneEventEach !== true && projection !== cardDays,
);

const operator = { actor: { kind: 'operator' as const, id: null }, requestId: null };

/** What a random history may do next. Refusals are part of life. */
const deeds = (world: World, dice: SeededEntropy) => {
  const cards: CardCode[] = [];
  const ids = (kind: string) => derivedUuid(kind, dice.below(4));
  const pick = () => cards[dice.below(Math.max(1, cards.length))];
  const run = <State, Event extends DomainEvent>(
    aggregate: Aggregate<State, Event>,
    id: string,
    decide: (state: State) => readonly Event[],
  ) => execute(world, aggregate, id, world.command(), decide);
  const change = async (by: Parameters<typeof changeCard>[3]) => {
    const code = pick();
    if (code !== undefined) await changeCard(world, { code, org }, world.command(), by);
  };
  const settings = { label: null, design: null, template: null, signedBy: null };
  const key = { org, label: 'a key', scopes: ['cards:read' as const], requestsPerMinute: null };
  return [
    () =>
      addCredits(world, operator, org, { amount: 3, reason: null, reference: `invoice ${dice.below(5)}` }),
    () => withdrawCredits(world, operator, org, 1, 'refund'),
    async () => cards.push((await sendCard(world, sendRequest(world))).code),
    async () => cards.push((await sendCard(world, sendRequest(world))).code),
    () => change(cancel),
    () => change(hold('why')),
    () => change(queue),
    () =>
      run(apiKey, ids('key'), (state) =>
        state.status === 'none' ? issueKey(key)(state) : revokeKey(org)(state),
      ),
    () =>
      run(hook, ids('hook'), (state) =>
        state.status === 'none' ? createHook(org, settings)(state) : pauseHook(org, true)(state),
      ),
    () => run(hook, ids('hook'), deleteHook(org)),
    () => run(organization, org, saveDesign({ id: ids('design'), name: 'Thanks', slug: null })),
    () => run(organization, org, archiveDesign(ids('design'))),
    () =>
      run(webhookEndpoints, org, (state) =>
        register({
          id: derivedUuid(world.command().id),
          url: `https://example.com/${dice.below(5)}` as WebhookUrl,
          events: [],
          description: null,
          key: 'k',
          at: world.clock.instant(),
        })(state),
      ),
    () =>
      run(webhookEndpoints, org, (state) => {
        const [first] = state.endpoints;
        return first === undefined ? [] : remove(first.id)(state);
      }),
  ];
};

const randomHistory = async (seed: number): Promise<World> => {
  const world = await makeWorld({ atomic: true, credits: 2 });
  const dice = new SeededEntropy(seed);
  const all = deeds(world, dice);
  for (let done = 0; done < 60; done++) {
    await world.clock.advance(dice.below(3) * 1_000);
    await Promise.resolve(all[dice.below(all.length)]?.()).catch((error: unknown) => {
      if (!(error instanceof DomainError)) throw error;
    });
  }
  return world;
};

/** What a rebuild that stopped at the end of a log would have of each stream, byte for byte. */
const rebuilt = (log: readonly LoggedEvent[]): ReadonlyMap<string, string> => {
  const documents = new Map<string, unknown>();
  for (const event of log)
    for (const projection of perStream)
      if (projection.category === categoryOf(event.stream)) {
        const name = `${projection.name} ${event.stream}`;
        documents.set(name, projection.evolve(documents.get(name) ?? null, event));
      }
  return new Map([...documents].map(([name, document]) => [name, JSON.stringify(document)]));
};

const codeOf = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => null,
    (error: unknown) => (error instanceof DomainError ? error.code : error),
  );

describe('what is shown as of a position', () => {
  for (const seed of [1, 2, 3, 4])
    it(`is what a rebuild that stopped there would have, at every position of a random log, seed ${seed}`, async () => {
      const world = await randomHistory(seed);
      const log = await world.store.readLog(0n, 100_000);
      const streams = [...new Set(log.map(({ stream }) => stream))];
      expect(log.length).to.be.above(50);
      for (const end of [0n, ...log.map(({ position }) => position)]) {
        const prefix = log.filter(({ position }) => position <= end);
        const moment = await momentOf(world.store, end, 'at');
        const shown = new Map<string, string>();
        for (const stream of streams)
          for (const projection of perStream.filter(({ category }) => category === categoryOf(stream))) {
            const past = await documentAt(world.store, projection, stream, moment);
            if (past === null) continue;
            shown.set(`${projection.name} ${stream}`, JSON.stringify(past.was));
            expect(past.asOf.position).to.equal(
              prefix.findLast((event) => event.stream === stream)?.position,
            );
          }
        expect(shown).to.deep.equal(rebuilt(prefix));
        const { state } = await world.streams.loadAt(webhookEndpoints, org, moment);
        const registered = prefix.filter(({ type }) => type === 'EndpointRegistered').length;
        const deleted = prefix.filter(({ type }) => type === 'EndpointDeleted').length;
        expect(state.endpoints.length).to.equal(registered - deleted);
        const movements = prefix.filter(({ stream }) => stream === ledgerStream(org));
        const last = await lastAt(world.store, ledgerStream(org), moment);
        expect(last?.id ?? null).to.equal(movements.at(-1)?.id ?? null);
      }
    });

  it('does not read what came after, not even in a cache', async () => {
    const world = await makeWorld({ atomic: true, credits: 5 });
    const { code } = await sendCard(world, sendRequest(world));
    const before = await momentOf(world.store, (await world.store.head()).position, 'at');
    await changeCard(world, { code, org }, world.command(), cancel);
    expect((await cardForOperator(world, code, null)).was.card.status).to.equal('cancelled');
    expect((await cardForOperator(world, code, before)).was.card.status).to.equal('pending');
    expect((await cardHistory(world, code, before)).map(({ type }) => type)).to.deep.equal(['CardScheduled']);
    expect((await readBalanceAt(world, org, before)).balance).to.equal(4);
  });
});

describe('what is shown as of a time', () => {
  it('ends before the first event of the stream that occurred later, whatever came after that', async () => {
    const world = await makeWorld({ atomic: true, credits: 5 });
    const { code } = await sendCard(world, sendRequest(world));
    const stream = `card-${code}` as StreamName;
    const sentAt = world.clock.instant();
    const later = { ...world.command(), at: new Date(world.clock.now() + 60_000).toISOString() as Instant };
    await changeCard(world, { code, org }, later, hold('why'));
    // A process whose clock is late.
    await changeCard(world, { code, org }, { ...world.command(), at: sentAt }, cancel);
    const types = async (at: Instant) =>
      (await streamAt(world.store, stream, { position: null, at })).map(({ type }) => type);
    expect(await types(sentAt)).to.deep.equal(['CardScheduled']);
    expect(await types(later.at)).to.deep.equal(['CardScheduled', 'CardHeld', 'CardCancelled']);
  });
});

describe('what is shown as of a position, by an event store that tells no positions of a stream,', () => {
  it('goes by the time of the event at that position', async () => {
    const world = await makeWorld({ atomic: false, credits: 5 });
    const { code } = await sendCard(world, sendRequest(world));
    await world.clock.advance(1_000);
    await changeCard(world, { code, org }, world.command(), hold('why'));
    const log = await world.store.readLog(0n, 1_000);
    const own = log.filter(({ stream }) => stream === `card-${code}`);
    expect((await world.store.readStream(own[0]?.stream ?? expect.fail(), 0))[0]?.position).to.equal(null);
    for (const [index, { position }] of own.entries()) {
      const moment = await momentOf(world.store, position, 'at');
      expect(await cardHistory(world, code, moment)).to.have.length(index + 1);
    }
    const nothing = await momentOf(world.store, 0n, 'at');
    expect(await codeOf(cardHistory(world, code, nothing))).to.equal('card_not_found');
  });
});

describe('a moment', () => {
  it('is refused if the log has not reached it, and finds nothing before there was anything', async () => {
    const world = await makeWorld({ atomic: true, credits: 5 });
    const { position: head } = await world.store.head();
    const { code } = await sendCard(world, sendRequest(world));
    const beyond = (await world.store.head()).position + 1n;
    expect(await codeOf(momentOf(world.store, beyond, 'at'))).to.equal('invalid_parameter');
    const before: Moment = await momentOf(world.store, head, 'at');
    expect(await codeOf(cardForOperator(world, code, before))).to.equal('card_not_found');
    expect(await codeOf(readBalanceAt(world, org, await momentOf(world.store, 0n, 'at')))).to.equal(
      'not_found',
    );
  });

  it('shows nothing of a stream that is not as it was recorded', async () => {
    const world = await makeWorld({ atomic: true, credits: 5 });
    const { code } = await sendCard(world, sendRequest(world));
    await changeCard(world, { code, org }, world.command(), hold('why'));
    const store = Object.create(world.store) as World['store'];
    store.readStream = async (...of) =>
      (await world.store.readStream(...of)).map((event) =>
        event.type === 'CardHeld'
          ? { ...event, metadata: { ...event.metadata, actor: { kind: 'key', id: 'x' } } }
          : event,
      );
    const head = await momentOf(world.store, (await world.store.head()).position, 'at');
    const damaged = { ...world, store };
    for (const moment of [head, null])
      expect(await codeOf(cardHistory(damaged, code, moment))).to.equal('log_damaged');
  });
});
