import { expect } from 'chai';
import { verifyExport } from '../../adapters/log-verifier/verify.mjs';
import { rawOf } from '../../application/log/hash-chain.js';
import { ledger } from '../../domain/credits.js';
import { parseEvent, type LoggedEvent } from '../../domain/events.js';
import { categoryOf, idOf, type Instant } from '../../domain/ids.js';
import { purchase } from '../../domain/purchase.js';
import { reconcile as reconcileBooks } from '../support/fixtures/books.js';
import { exported, notarized, vkey } from '../support/fixtures/notarized.js';
import { makeWorld, org, type World } from '../support/fixtures/world.js';
import { violations } from '../support/simulation/invariants.js';
import { Simulation, weathers } from './money.js';

/** Some of these seeds fail if the code breaks a rule of docs/money.md. */
const seeds: Readonly<Record<string, readonly number[]>> = {
  'calm weather': [1],
  'lost answers': [1],
  'dying processes': [1],
  'stalling processes': [11, 19],
  'everything at once': [1, 20],
};

const clients = 8;
const calls = 40;

for (const [name, weather] of Object.entries(weathers)) {
  for (const seed of seeds[name] ?? []) {
    describe(`${clients} clients in ${name}, seed ${seed}`, () => {
      it('lose no credit and get one card per key, on a store that writes one stream at a time', async () => {
        const world = await makeWorld({ atomic: false, credits: 4 });
        const simulation = new Simulation(world, weather, seed);
        await simulation.run(clients, calls);
        const wrong = violations(await world.store.readLog(0n, 1_000_000), simulation.history, {
          settled: true,
        });
        expect({ wrong, stuck: simulation.stuck }).to.deep.equal({ wrong: [], stuck: [] });
        expect(simulation.history.length).to.be.above(clients * calls);
      });

      it('leave nothing for the reconciler to do, on a store that commits several streams at once', async () => {
        const world = await makeWorld({ atomic: true, credits: 4 });
        const simulation = new Simulation(world, weather, seed);
        await simulation.run(clients, calls);
        const log = await world.store.readLog(0n, 1_000_000);
        const wrong = violations(log, simulation.history, { settled: true });
        const reconciled = log
          .filter(({ metadata }) => metadata.actor.kind === 'system' && metadata.actor.id === 'reconciler')
          .map(({ type }) => type);
        expect({ wrong, reconciled, stuck: simulation.stuck }).to.deep.equal({
          wrong: [],
          reconciled: [],
          stuck: [],
        });
      });
    });
  }
}

/** What the ledger says about a purchase under a reference: the balance that it left. */
const balancesLeft = (log: readonly LoggedEvent[]): ReadonlyMap<string, number> =>
  new Map(
    log.flatMap((logged) => {
      if (categoryOf(logged.stream) !== 'purchase') return [];
      const { reference } = parseEvent(purchase, logged).data;
      const movement = log
        .filter(({ stream }) => categoryOf(stream) === 'credits')
        .map((moved) => parseEvent(ledger, moved))
        .find(({ data: { cause } }) => cause === idOf(logged.stream));
      return movement === undefined ? [] : [[reference, movement.data.balance]];
    }),
  );

/** What the movements of a log change, one by one, and the balance that the last one says. */
const naively = (log: readonly LoggedEvent[]) => {
  const movements = log
    .filter(({ stream }) => categoryOf(stream) === 'credits')
    .map((logged) => parseEvent(ledger, logged));
  const sum = (type: string): number =>
    movements.filter((event) => event.type === type).reduce((all, { data }) => all + data.amount, 0);
  return {
    opening: 0,
    purchased: sum('CreditsPurchased'),
    withdrawn: sum('CreditsWithdrawn'),
    spent: sum('CreditSpent'),
    returned: sum('CreditReturned'),
    closing: movements.at(-1)?.data.balance ?? 0,
  };
};

/**
 * The log as it would be without a return: its credits were bought at the beginning instead, and no balance
 * lies.
 */
const without = (log: readonly LoggedEvent[], left: LoggedEvent): readonly LoggedEvent[] => {
  const more = parseEvent(ledger, left).data.amount;
  return log
    .filter((logged) => logged !== left)
    .map((logged) => {
      if (logged.stream !== left.stream || logged.position > left.position) return logged;
      const { amount, balance } = parseEvent(ledger, logged).data;
      const bought = logged.revision === 0 ? amount + more : amount;
      return { ...logged, data: { ...logged.data, amount: bought, balance: balance + more } };
    });
};

/** The reconciliation is exact at every position, and finds what is missing. */
const checkBooks = async (world: World, log: readonly LoggedEvent[]): Promise<void> => {
  const until = world.clock.instant();
  const all = { after: -1, until, mayBeOpenFor: Infinity };
  for (let length = 0; length <= log.length; length++) {
    const prefix = log.slice(0, length);
    const { opening, purchased, withdrawn, spent, returned, closing, findings } = reconcileBooks(prefix, all);
    expect({ opening, purchased, withdrawn, spent, returned, closing }).to.deep.equal(naively(prefix));
    expect(opening + purchased - withdrawn - spent + returned).to.equal(closing);
    expect(findings).to.deep.equal([]);
  }
  const settled = { ...all, mayBeOpenFor: 75_000 };
  const { open, findings, cards: counts, returned, spent } = reconcileBooks(log, settled);
  expect({ open, findings }).to.deep.equal({ open: [], findings: [] });
  expect([
    counts.paid + counts.void,
    counts.cancelled + counts.failed + counts.held + counts.void,
  ]).to.deep.equal([spent, returned]);
  for (const moved of log.filter(({ stream }) => categoryOf(stream) === 'credits')) {
    const period = reconcileBooks(log, { ...settled, after: moved.revision });
    const { opening, purchased, withdrawn, closing } = period;
    expect(opening).to.equal(parseEvent(ledger, moved).data.balance);
    expect(opening + purchased - withdrawn - period.spent + period.returned).to.equal(closing);
  }
  const returns = log.filter(({ type }) => type === 'CreditReturned');
  expect(returns.length).to.be.above(0);
  const later = { ...settled, until: new Date(Date.parse(until) + 600_000).toISOString() as typeof until };
  for (const left of returns)
    expect(reconcileBooks(without(log, left), later).findings.map(({ code }) => code)).to.deep.equal([
      'overdue',
    ]);
};

const credits =
  /^PASS {2}credits add up.*: (?:(\d+) before \+ )?(\d+) purchased(?: - (\d+) withdrawn)? - (\d+) spent \+ (\d+) returned = (\d+)(?:, (\d+) on the way)?$/;

/** How long a verifier lets something be under way. */
const verifierWaits = 5 * 60_000;
const prefixesTried = 6;

/** The end of the commit that the event before this place belongs to, where a commit may hold several. */
const commitEnd = ({ store }: World, log: readonly LoggedEvent[], length: number): number => {
  const command = log[length - 1]?.metadata.causationId;
  const next = log.findIndex(({ metadata }, index) => index >= length && metadata.causationId !== command);
  return !store.atomic ? length : next === -1 ? log.length : next;
};

/** The verifier, which knows nothing but an export, comes to the same sums as the service. */
const checkAgainstVerifier = async (world: World, log: readonly LoggedEvent[]): Promise<void> => {
  const stored = log.map((event) => ({ ...rawOf(event), position: event.position }));
  for (let tried = 1; tried <= prefixesTried; tried++) {
    const length = commitEnd(world, log, Math.floor((log.length * tried) / prefixesTried));
    const prefix = log.slice(0, length);
    const deps = await notarized(world, stored.slice(0, length));
    const { report } = verifyExport(await exported(deps, { kind: 'organization', org }), { keys: [vkey] });
    const times = prefix.map(({ metadata }) => Date.parse(metadata.occurredAt));
    const until = new Date(Math.max(...times)).toISOString() as Instant;
    const books = reconcileBooks(prefix, { after: -1, until, mayBeOpenFor: verifierWaits });
    const line = report.find((each) => each.includes('credits add up')) ?? '';
    if (books.findings.length > 0) {
      expect(line, `after ${length} events`).to.match(/^FAIL .* stands alone$/);
      continue;
    }
    const [, ...sums] = credits.exec(line) ?? [];
    const { opening, purchased, withdrawn, spent, returned, closing, open } = books;
    expect(sums.map((sum) => Number(sum ?? 0)), `after ${length} events: ${line}`).to.deep.equal([
      opening, purchased, withdrawn, spent, returned, closing, open.length,
    ]); // prettier-ignore
  }
};

describe('purchases under references, made again and again', () => {
  for (const [name, seed] of [
    ['dying processes', 3],
    ['lost answers', 4],
    ['everything at once', 2],
  ] as const)
    for (const atomic of [false, true])
      it(`buy once in ${name}, on a store that writes ${atomic ? 'several streams' : 'one stream'} at a time`, async () => {
        const world = await makeWorld({ atomic, credits: 4 });
        const simulation = new Simulation(world, weathers[name] ?? expect.fail(name), seed, true);
        await simulation.run(4, 30);
        const log = await world.store.readLog(0n, 1_000_000);
        const wrong = violations(log, simulation.history, { settled: true });
        const left = balancesLeft(log);
        const told = simulation.purchases.filter(({ balance }) => balance !== null);
        const lies = told.filter(({ reference, balance }) => left.get(reference) !== balance);
        const reconciled = log.filter(({ metadata: { actor } }) => actor.id === 'reconciler');
        expect({ wrong, lies }).to.deep.equal({ wrong: [], lies: [] });
        expect(told.length).to.be.above(left.size);
        if (atomic) expect(reconciled).to.deep.equal([]);
        await checkBooks(world, log);
        await checkAgainstVerifier(world, log);
      });
});
