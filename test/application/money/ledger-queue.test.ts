import { expect } from 'chai';
import { array, assert, asyncProperty, constantFrom, integer, record } from 'fast-check';
import { changeCard } from '../../../application/cards/change-card.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { LedgerQueue, type Transfer, type Transferred } from '../../../application/money/ledger-queue.js';
import { purchaseBy, returnOf, spendFor, ledger, ledgerStream } from '../../../domain/credits.js';
import { OutcomeUnknown, TooContended } from '../../../application/writing/execute.js';
import {
  EventStoreUnavailable,
  type EventStore,
  type StreamWrite,
} from '../../../application/ports/event-store.js';
import { acceptHeld, card, hold, isMade, cancel } from '../../../domain/card.js';
import { cardCode } from '../../../domain/card-code.js';
import { DomainError } from '../../../domain/errors.js';
import { OrganizationId } from '../../../domain/ids.js';
import { logViolations } from '../../support/simulation/invariants.js';
import { drive } from '../../support/simulation/drive.js';
import {
  anOrder,
  balanceOf,
  letter,
  makeWorld,
  org,
  sendRequest,
  nothingProjected,
  type World,
} from '../../support/fixtures/world.js';
import type { Fate } from '../../support/memory/event-store.js';

/** A world that counts the appends to its ledger and lets a test decide their fate. */
const countingWorld = async (options: {
  readonly atomic?: boolean;
  readonly credits?: number;
  readonly fate?: (append: number) => Fate | Promise<Fate>;
}) => {
  const sizes: number[] = [];
  let counting = false;
  const world = await makeWorld({
    atomic: options.atomic ?? false,
    credits: options.credits ?? 0,
    onWrite: async (writes) => {
      const events = writes.find(({ stream }) => stream === ledgerStream(org))?.events.length;
      if (!counting || events === undefined) return 'store';
      sizes.push(events);
      return (await options.fate?.(sizes.length)) ?? 'store';
    },
  });
  counting = true;
  return { world, sizes };
};

const buying = (world: World, amount: number): Transfer => {
  const command = world.command();
  return { org, command, movements: [purchaseBy(command, org, amount, null)] };
};

const spending = (world: World, payload: number, writes: readonly StreamWrite[] = []): Transfer => {
  const command = world.command();
  const slot = { card: cardCode([0, 0, 0, 0, 0, payload]), revision: 0, command: command.id };
  return { org, command, movements: [spendFor(slot, org)], writes };
};

const returning = (world: World, since: number, ...revisions: readonly number[]): Transfer => {
  const causes = revisions.map((revision) => ({ owed: { card: 'HC-7K3M9QX', revision } }));
  const movements = causes.map((cause) => returnOf(cause, org, 1));
  return { org, command: world.command(), movements, since };
};

const outcomeOf = (settled: PromiseSettledResult<Transferred>): string => {
  if (settled.status === 'fulfilled') return settled.value.kind;
  return settled.reason instanceof DomainError
    ? settled.reason.code
    : settled.reason instanceof Error
      ? settled.reason.name
      : 'thrown';
};

const all = async (world: World, moves: readonly Promise<Transferred>[]): Promise<readonly string[]> => {
  const settled = await drive(world.clock, Promise.allSettled(moves));
  return settled === 'dead' ? ['dead'] : settled.map(outcomeOf);
};

const causesInOrder = async ({ store }: World): Promise<readonly string[]> =>
  (await store.readStream(ledgerStream(org), 0)).map(({ metadata }) => metadata.causationId);

describe('moving credits', () => {
  it('puts half of the waiting transfers into the next append, but at least 32 if there are as many', async () => {
    const { world, sizes } = await countingWorld({});
    const moves = Array.from({ length: 50 }, () => world.ledgers.move(buying(world, 1)));
    expect(await all(world, moves)).to.deep.equal(moves.map(() => 'moved'));
    expect(sizes).to.deep.equal([1, 32, 17]);
    expect(await balanceOf(world)).to.equal(50);
  });

  it('writes at most 256 movements at once', async () => {
    const { world, sizes } = await countingWorld({});
    await all(
      world,
      Array.from({ length: 600 }, () => world.ledgers.move(buying(world, 1))),
    );
    expect(sizes).to.deep.equal([1, 256, 172, 86, 43, 32, 10]);
  });

  it('lets an append wait for as many as came together before, but not for long', async () => {
    const { world, sizes } = await countingWorld({});
    const { clock } = world;
    const move = (): Promise<Transferred> => world.ledgers.move(buying(world, 1));
    const together = [move(), move(), move(), move()];
    await Promise.all(together);
    expect(sizes).to.deep.equal([1, 3]);
    const [first, second] = [move(), move()];
    await clock.advance(9);
    expect(sizes).to.deep.equal([1, 3]);
    // All are here: nobody waits any longer.
    await Promise.all([first, second, move()]);
    expect(sizes).to.deep.equal([1, 3, 3]);
    const alone = move();
    await clock.advance(10);
    await alone;
    const againAlone = move();
    await clock.advance(10);
    await againAlone;
    expect(sizes).to.deep.equal([1, 3, 3, 1, 1]);
    // Who has waited in vain for the others is not held up any more.
    await move();
    expect(sizes).to.deep.equal([1, 3, 3, 1, 1, 1]);
  });

  it('makes nobody wait on a store that commits everything together', async () => {
    const { world, sizes } = await countingWorld({ atomic: true });
    const move = (): Promise<Transferred> => world.ledgers.move(buying(world, 1));
    await Promise.all([move(), move(), move()]);
    await move();
    expect(sizes.at(-1)).to.equal(1);
  });

  it('makes transfers in the order in which they came', async () => {
    const { world } = await countingWorld({ credits: 30 });
    const movements = Array.from({ length: 60 }, (_, place) => spending(world, place % 32));
    const outcomes = await all(
      world,
      movements.map((movement) => world.ledgers.move(movement)),
    );
    expect(outcomes).to.deep.equal(movements.map((_, place) => (place < 30 ? 'moved' : 'no_credits')));
    expect((await causesInOrder(world)).slice(1)).to.deep.equal(
      movements.slice(0, 30).map(({ command }) => command.id),
    );
  });

  it('goes on with the next transfer after a refusal', async () => {
    const { world } = await countingWorld({});
    const moves = [spending(world, 1), buying(world, 1), spending(world, 2), spending(world, 3)].map(
      (movement) => world.ledgers.move(movement),
    );
    expect(await all(world, moves)).to.deep.equal(['no_credits', 'moved', 'moved', 'no_credits']);
  });

  it('does not make one organization wait for another', async () => {
    const { world } = await countingWorld({ fate: () => new Promise<Fate>(() => {}) });
    const stuck = world.ledgers.move(buying(world, 1));
    const other = { ...buying(world, 1), org: OrganizationId.parse('another') };
    expect(await all(world, [world.ledgers.move(other)])).to.deep.equal(['moved']);
    expect(await drive(world.clock, stuck)).to.equal('dead');
  });

  it('moves credits once per cause, however many transfers name it', async () => {
    const { world } = await countingWorld({ credits: 1 });
    const since = (await world.streams.load(ledger, org)).revision;
    const others = world.restarted().ledgers;
    const moves = [buying(world, 1), ...Array.from({ length: 5 }, () => returning(world, since, 1))].flatMap(
      (movement) =>
        movement.since === undefined
          ? [world.ledgers.move(movement)]
          : [world.ledgers.move(movement), others.move({ ...movement, command: world.command() })],
    );
    expect(new Set(await all(world, moves))).to.deep.equal(new Set(['moved']));
    expect(await balanceOf(world.restarted())).to.equal(3);
  });

  it('completes a transfer of which another process has already made some movements', async () => {
    const { world, sizes } = await countingWorld({
      credits: 1,
      fate: async (append): Promise<Fate> => {
        if (append === 1) await world.restarted().ledgers.move(returning(world, since, 2));
        return 'store';
      },
    });
    const since = (await world.streams.load(ledger, org)).revision;
    expect(await all(world, [world.ledgers.move(returning(world, since, 1, 2, 3))])).to.deep.equal(['moved']);
    expect(sizes).to.deep.equal([3, 1, 2]);
    const returned = (await world.store.readStream(ledgerStream(org), since + 1)).map(({ data }) => data);
    expect(returned).to.deep.equal(
      [2, 1, 3].map((revision, place) => ({
        cause: { owed: { card: 'HC-7K3M9QX', revision } },
        amount: 1,
        balance: 2 + place,
      })),
    );
  });

  it('makes no movement of a transfer if one of them is refused', async () => {
    const { world } = await countingWorld({ credits: 3 });
    const both = (first: number): Transfer => {
      const [one, two] = [spending(world, first), spending(world, first + 1)];
      return { ...one, movements: [...one.movements, ...two.movements] };
    };
    const moves = [both(1), both(3), spending(world, 5)].map((transfer) => world.ledgers.move(transfer));
    expect(await all(world, moves)).to.deep.equal(['moved', 'no_credits', 'moved']);
    expect(await balanceOf(world)).to.equal(0);
  });

  it('finds its own movement after a lost response, and retries if it is not there', async () => {
    for (const lost of ['lose', 'lose-answer', 'store-lose-answer'] as const) {
      const { world } = await countingWorld({
        credits: 1,
        fate: (append) =>
          append === 1 ? (lost === 'lose-answer' ? { late: Promise.resolve() } : lost) : 'store',
      });
      expect(
        await all(world, [world.ledgers.move(spending(world, 1)), world.ledgers.move(spending(world, 2))]),
      ).to.deep.equal(['moved', 'no_credits']);
      expect(await balanceOf(world), lost).to.equal(0);
    }
  });

  it('reports an unknown outcome if every response is lost, and that nothing moved if the store is unavailable', async () => {
    const { world } = await countingWorld({ credits: 1, fate: () => 'lose' });
    expect(await all(world, [world.ledgers.move(spending(world, 1))])).to.deep.equal([OutcomeUnknown.name]);
    const { world: another } = await countingWorld({ credits: 1, fate: () => 'away' });
    expect(await all(another, [another.ledgers.move(spending(another, 1))])).to.deep.equal([
      EventStoreUnavailable.name,
    ]);
    const { world: third } = await countingWorld({
      credits: 1,
      fate: (append) => (append === 1 ? 'lose' : 'away'),
    });
    expect(await all(third, [third.ledgers.move(spending(third, 1))])).to.deep.equal([OutcomeUnknown.name]);
  });

  it('gives up on a ledger that others write to without a pause, and has moved nothing', async () => {
    const { world } = await countingWorld({ credits: 1 });
    const rival = world.restarted().ledgers;
    let racing = true;
    const { store } = world;
    const crowded: EventStore = {
      append: async (writes) => {
        if (racing) await rival.move(buying(world, 1));
        return store.append(writes);
      },
      readStream: (stream, from, limit) => store.readStream(stream, from, limit),
      readLast: (stream) => store.readLast(stream),
      readLog: (after, limit) => store.readLog(after, limit),
      head: () => store.head(),
      markAt: (position) => store.markAt(position),
      positionBefore: (time) => store.positionBefore(time),
      follow: (after, options) => store.follow(after, options),
    };
    const movement = spending(world, 1);
    expect(
      await all(world, [
        new LedgerQueue(
          { ...world, store: crowded },
          { savesCalls: true, readYourWrites: nothingProjected },
        ).move(movement),
      ]),
    ).to.deep.equal([TooContended.name]);
    racing = false;
    expect((await causesInOrder(world)).includes(movement.command.id)).to.equal(false);
  });

  it('refuses once reads show the balance that the refusal is for', async () => {
    const world = await makeWorld({ atomic: false, credits: 1 });
    await world.ledgers.move(spending(world, 1));
    const waited: bigint[] = [];
    const afterWrite = (position: bigint) => {
      waited.push(position);
      return Promise.resolve();
    };
    const ledgers = new LedgerQueue(world, { savesCalls: true, readYourWrites: { afterWrite } });
    expect(await all(world, [ledgers.move(spending(world, 1))])).to.deep.equal(['no_credits']);
    expect(waited).to.deep.equal([(await world.store.head()).position]);
  });

  it('takes what another command did to the card for no commit of its own after a lost response', async () => {
    const { world } = await countingWorld({
      atomic: true,
      credits: 1,
      fate: async (append) => {
        if (append !== 2) return 'store';
        const rival = world.restarted();
        await changeCard(rival, { code: sent, org }, rival.command(), hold('a look at it'));
        return 'lose';
      },
    });
    const { code: sent } = await sendCard(world, sendRequest(world));
    const cancelled = await drive(
      world.clock,
      changeCard(world, { code: sent, org }, world.command(), cancel),
    );
    expect(cancelled).to.include({ creditsReturned: 0 });
    const { state } = await world.streams.load(card, sent);
    expect(isMade(state) && state.status).to.equal('cancelled');
    expect(await balanceOf(world)).to.equal(1);
  });

  it('returns a conflict without moving a credit if the transfer’s own write conflicts, and makes the others', async () => {
    const world = await makeWorld({ atomic: true, credits: 10 });
    const writeOf = async (place: number): Promise<StreamWrite> => {
      const at = await world.streams.load(card, cardCode([0, 0, 0, 0, 0, place]));
      return world.streams.write(card, at, [
        {
          event: acceptHeld(anOrder(), letter, 'x'),
          command: world.command(),
        },
      ]);
    };
    const taken = await writeOf(7);
    await world.store.append([taken]);
    const { events } = await writeOf(6);
    const stale: StreamWrite = { ...taken, events };
    const moves = [
      world.ledgers.move(spending(world, 1, [await writeOf(1)])),
      world.ledgers.move(spending(world, 7, [stale])),
      world.ledgers.move(spending(world, 2, [await writeOf(2)])),
    ];
    expect(await all(world, moves)).to.deep.equal(['moved', 'conflict', 'moved']);
    expect(await balanceOf(world)).to.equal(8);
  });

  it('keeps balances right in any order of transfers, with responses lost anywhere', async () => {
    const wish = record({
      kind: constantFrom('buy', 'spend', 'return'),
      amount: integer({ min: 1, max: 3 }),
    });
    const fate = constantFrom<Fate>('store', 'store', 'store', 'lose', 'store-lose-answer');
    await assert(
      asyncProperty(array(wish, { maxLength: 25 }), array(fate, { maxLength: 8 }), async (wishes, fates) => {
        const { world } = await countingWorld({ credits: 2, fate: (append) => fates[append - 1] ?? 'store' });
        const since = (await world.streams.load(ledger, org)).revision;
        const outcomes = await all(
          world,
          wishes.map(({ kind, amount }, place) =>
            world.ledgers.move(
              kind === 'buy'
                ? buying(world, amount)
                : kind === 'spend'
                  ? spending(world, place)
                  : returning(world, since, 1),
            ),
          ),
        );
        const moved = wishes.filter((_, place) => outcomes[place] === 'moved');
        const bought = moved
          .filter(({ kind }) => kind === 'buy')
          .reduce((sum, { amount }) => sum + amount, 0);
        const spent = moved.filter(({ kind }) => kind === 'spend').length;
        expect(await balanceOf(world)).to.equal(
          2 + bought - spent + (moved.some(({ kind }) => kind === 'return') ? 1 : 0),
        );
        const log = await world.store.readLog(0n, 1_000);
        expect(
          logViolations(log, { settled: false }).filter(
            (line) => line.startsWith('1:') || line.includes('again') || line.startsWith('10:'),
          ),
        ).to.deep.equal([]);
      }),
      { numRuns: 60 },
    );
  });
});
