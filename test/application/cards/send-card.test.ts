import { expect } from 'chai';
import { changeCard } from '../../../application/cards/change-card.js';
import { recoverLostSpend } from '../../../application/cards/claims.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { ledgerRevisionBefore } from '../../../application/money/ledger-queue.js';
import type { IdempotencyStore } from '../../../application/ports/idempotency-store.js';
import { execute } from '../../../application/writing/execute.js';
import { cancel, cardStream } from '../../../domain/card.js';
import { cardCode, codeAlphabet } from '../../../domain/card-code.js';
import { collectionCard, putCollectionCard } from '../../../domain/catalogue.js';
import { spendFor } from '../../../domain/credits.js';
import { DomainError } from '../../../domain/errors.js';
import { front } from '../../support/fixtures/front.js';
import { balanceOf, buy, makeWorld, org, sendRequest, type World } from '../../support/fixtures/world.js';

const codeOf = (outcome: PromiseSettledResult<unknown>): string => {
  if (outcome.status === 'fulfilled') return 'sent';
  return outcome.reason instanceof DomainError ? outcome.reason.code : String(outcome.reason);
};

const tally = (outcomes: readonly PromiseSettledResult<unknown>[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[codeOf(outcome)] = (counts[codeOf(outcome)] ?? 0) + 1;
  return counts;
};

const cardStreams = async (world: World): Promise<number> =>
  new Set(
    (await world.store.readLog(0n, 10_000))
      .filter(({ stream }) => stream.startsWith('card-'))
      .map(({ stream }) => stream),
  ).size;

/** A store of keys with some of its methods replaced. */
const keysWith = (keys: IdempotencyStore, changes: Partial<IdempotencyStore>): IdempotencyStore => ({
  clock: keys.clock,
  claim: (wanted) => keys.claim(wanted),
  replace: (held, next) => keys.replace(held, next),
  complete: (held) => keys.complete(held),
  release: (held) => keys.release(held),
  ...changes,
});

for (const atomic of [true, false]) {
  describe(`sending a card, on a store that ${atomic ? 'commits several streams at once' : 'writes one stream at a time'}`, () => {
    it('spends one credit and schedules one card', async () => {
      const world = await makeWorld({ atomic, credits: 3 });
      const sent = await sendCard(world, sendRequest(world));
      expect(sent.event.type).to.equal('CardScheduled');
      expect(sent.replay).to.equal(false);
      expect(await balanceOf(world)).to.equal(2);
    });

    it('lets one of a hundred sends through if the balance is one', async () => {
      const world = await makeWorld({ atomic, credits: 1 });
      const outcomes = await Promise.allSettled(
        Array.from({ length: 100 }, () => sendCard(world, sendRequest(world))),
      );
      expect(tally(outcomes)).to.deep.equal({ sent: 1, no_credits: 99 });
      expect(await balanceOf(world)).to.equal(0);
      expect(await cardStreams(world)).to.equal(1);
    });

    it('makes one card of twenty requests with the same key', async () => {
      const world = await makeWorld({ atomic, credits: 30 });
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, () => sendCard(world, sendRequest(world, {}, 'order-1'))),
      );
      expect(tally(outcomes)).to.deep.equal({ sent: 1, request_in_progress: 19 });
      const replay = await sendCard(world, sendRequest(world, {}, 'order-1'));
      expect(replay.replay).to.equal(true);
      expect(await balanceOf(world)).to.equal(29);
    });

    it('takes over a claim that a dead process left, even if the clock was set back meanwhile', async () => {
      const world = await makeWorld({ atomic, credits: 3 });
      const again = () => sendRequest(world, {}, 'order-1');
      const { idempotency: named } = again();
      if (named === null) throw new Error('the request has no key');
      const left = { org, ...named, code: 'HC-AAAAAAA', owner: world.command().id, ledgerRevision: 0 };
      await world.idempotency.claim({ ...left, claimedAt: world.clock.instant() });
      const [early] = await Promise.allSettled([sendCard(world, again())]);
      expect(early && codeOf(early)).to.equal('request_in_progress');
      world.clock.skip(120_000);
      world.clock.set(world.clock.now() - 600_000);
      expect((await sendCard(world, again())).replay).to.equal(false);
      expect(await balanceOf(world)).to.equal(2);
    });

    it('finds the card of a key that was remembered when the request came, however long it waits for it', async () => {
      const world = await makeWorld({ atomic, credits: 3 });
      const first = await sendCard(world, sendRequest(world, {}, 'order-1'));
      await world.clock.advance(9_000);
      const { idempotency: keys, clock } = world;
      const waiting = keysWith(keys, {
        claim: async (wanted) => {
          await clock.advance(86_400_000 - 5_000);
          return keys.claim(wanted);
        },
      });
      const sent = await sendCard({ ...world, idempotency: waiting }, sendRequest(world, {}, 'order-1'));
      expect([sent.code, sent.replay]).to.deep.equal([first.code, true]);
      expect(await balanceOf(world)).to.equal(2);
    });

    const later = { 'by the clock of the keys': 'set', 'by the monotonic clock': 'skip' } as const;
    for (const [how, move] of Object.entries(later).slice(atomic ? 1 : 0))
      it(`does nothing for a request that began a minute ago, ${how}, and frees its key`, async () => {
        const world = await makeWorld({ atomic, credits: 3 });
        const { clock } = world;
        const request = sendRequest(world, {}, 'order-1');
        const slow = {
          ...request,
          draft: () => {
            const now = clock.now();
            clock.skip(move === 'skip' ? 60_000 : 0);
            clock.set(move === 'skip' ? now : now + 60_000);
            return request.draft();
          },
        };
        const [outcome] = await Promise.allSettled([sendCard(world, slow)]);
        expect(outcome).to.have.nested.property('reason.name', 'RequestOverdue');
        expect([await balanceOf(world), await cardStreams(world)]).to.deep.equal([3, 0]);
        expect((await sendCard(world, sendRequest(world, {}, 'order-1'))).replay).to.equal(false);
      });

    it('does nothing under a key after its machine was suspended, until keys have the right time again', async () => {
      const world = await makeWorld({ atomic, credits: 3 });
      let isAgreed = true;
      const now = () => world.clock.now();
      const idempotency = keysWith(world.idempotency, { clock: { now, isAgreed: () => isAgreed } });
      const request = sendRequest(world, {}, 'order-1');
      const suspended = {
        ...request,
        draft: () => {
          isAgreed = false;
          return request.draft();
        },
      };
      const [outcome] = await Promise.allSettled([sendCard({ ...world, idempotency }, suspended)]);
      expect(outcome).to.have.nested.property('reason.name', 'RequestOverdue');
      expect([await balanceOf(world), await cardStreams(world)]).to.deep.equal([3, 0]);
      const unkeyed = await sendCard({ ...world, idempotency }, sendRequest(world));
      expect(unkeyed.event.type).to.equal('CardScheduled');
    });

    for (const key of atomic ? [undefined, 'order-1'] : [undefined])
      it(`is not held up by a jump of the clock, ${key === undefined ? 'without a key' : 'nor is its key forgotten'}`, async () => {
        const world = await makeWorld({ atomic, credits: 3 });
        const request = sendRequest(world, {}, key);
        const jumping = {
          ...request,
          draft: () => {
            world.clock.set(world.clock.now() + 25 * 3_600_000);
            return request.draft();
          },
        };
        const sent = await sendCard(world, jumping);
        expect([sent.event.type, await balanceOf(world)]).to.deep.equal(['CardScheduled', 2]);
        const again = await sendCard(world, { ...sendRequest(world, {}, key), draft: request.draft });
        expect(again.replay).to.equal(key !== undefined);
      });

    it('releases the key if the balance is empty, and sends with it after topping up', async () => {
      const world = await makeWorld({ atomic });
      const [refused] = await Promise.allSettled([sendCard(world, sendRequest(world, {}, 'order-1'))]);
      expect(refused && codeOf(refused)).to.equal('no_credits');
      await buy(world, 1);
      expect((await sendCard(world, sendRequest(world, {}, 'order-1'))).replay).to.equal(false);
    });

    it('draws another code if the first one is taken', async () => {
      const world = await makeWorld({ atomic, credits: 5 });
      const { entropy } = world;
      const draws: number[][] = [];
      const taking: World = {
        ...world,
        entropy: {
          uuid: () => entropy.uuid(),
          below: (limit) => entropy.below(limit),
          bytes: (count) => {
            const payload = draws.length < 2 ? [1, 2, 3, 4, 5, 6] : [...entropy.bytes(count)];
            draws.push(payload);
            return Buffer.from(payload);
          },
        },
      };
      const first = await sendCard(taking, sendRequest(taking));
      const second = await sendCard(taking, sendRequest(taking));
      expect(draws.length).to.equal(3);
      expect(second.code).not.to.equal(first.code);
      expect(await cardStreams(world)).to.equal(2);
      expect(await balanceOf(world)).to.equal(3);
    });

    it('returns no credit that paid for the card of another request, under whichever code', async () => {
      const world = await makeWorld({ atomic, credits: 2 });
      const before = await ledgerRevisionBefore(world, org);
      const { code } = await sendCard(world, sendRequest(world));
      // A claim that was left behind drew the same code, and has known it since before it was paid for.
      const request = sendRequest(world, {}, 'order-1');
      const { idempotency: named } = request;
      if (named === null) throw new Error('the request has no key');
      const left = { org, ...named, code, owner: world.command().id, ledgerRevision: before };
      await world.idempotency.claim({ ...left, claimedAt: world.clock.instant() });
      world.clock.skip(600_000);
      await sendCard(world, sendRequest(world, {}, 'order-1'));
      expect(await balanceOf(world)).to.equal(0);
      // So did one that is at work, draws another code, and finds the balance empty.
      const drawn = cardCode([1, 2, 3, 4, 5, 6]);
      const claim = { ...left, key: 'order-2', code: drawn, claimedAt: world.clock.instant() };
      const attempt = { code: drawn, isFresh: true, claim, earlierOwner: null, earlierCodes: [code] };
      expect(await recoverLostSpend(world, request, attempt)).to.equal(null);
      expect(await balanceOf(world)).to.equal(0);
    });

    it('accepts a card that needs a person’s attention as held, and charges nothing', async () => {
      const world = await makeWorld({ atomic });
      const { event } = await sendCard(world, sendRequest(world, { message: { value: 'Great work 🎉' } }));
      expect(event.type).to.equal('CardHeld');
      expect(event.type === 'CardHeld' && event.data.reason).to.contain('🎉');
    });

    it('copies a collection card only once', async () => {
      const world = await makeWorld({ atomic, credits: 10 });
      const sends = await Promise.all(
        Array.from({ length: 5 }, () =>
          sendCard(world, sendRequest(world, { designId: { value: 'card:thank-you' } })),
        ),
      );
      expect(new Set(sends.map(({ event }) => event.data.order?.design.id)).size).to.equal(1);
      expect(
        (await world.store.readLog(0n, 1000)).filter(({ type }) => type === 'DesignSaved').length,
      ).to.equal(2);
      expect(await balanceOf(world)).to.equal(5);
    });

    it('is answered once reads show the card, though its copy was made by another send before', async () => {
      const world = await makeWorld({ atomic, credits: 10 });
      const waited: bigint[] = [];
      const afterWrite = (position: bigint) => {
        waited.push(position);
        return Promise.resolve();
      };
      const deps = { ...world, readYourWrites: { ...world.readYourWrites, afterWrite } };
      await Promise.all(
        Array.from({ length: 5 }, () =>
          sendCard(deps, sendRequest(world, { designId: { value: 'card:thank-you' } })),
        ),
      );
      const made = (await world.store.readLog(0n, 1000)).filter(({ type }) => type === 'CardScheduled');
      expect(made).to.have.length(5);
      const later = waited.toSorted((a, b) => Number(a - b));
      made.forEach(({ position }, index) => expect(Number(later[index])).to.be.at.least(Number(position)));
    });

    it('records the front that its design has, whatever the collection shows later', async () => {
      const world = await makeWorld({ atomic, credits: 10 });
      const send = async (designId: string | null) => {
        const { event } = await sendCard(world, sendRequest(world, { designId: { value: designId } }));
        return event.data.order?.design.front;
      };
      const fronts = [await send(null)];
      for (const digit of ['a', 'b']) {
        const publish = putCollectionCard('Thank you', true, front(digit));
        await execute(world, collectionCard, 'thank-you', world.command(), publish);
        fronts.push(await send('card:thank-you'), await send(null));
      }
      const { digest } = front('a');
      expect(fronts).to.deep.equal([null, digest, digest, digest, digest]);
    });

    it('returns the credit of a cancelled card only once', async () => {
      const world = await makeWorld({ atomic, credits: 5 });
      const { code } = await sendCard(world, sendRequest(world));
      const changes = await Promise.all(
        Array.from({ length: 100 }, () =>
          changeCard(world, { code, org }, world.command(), (state) => cancel(state)),
        ),
      );
      expect(changes.reduce((sum, { creditsReturned }) => sum + creditsReturned, 0)).to.equal(1);
      expect(await balanceOf(world)).to.equal(5);
    });
  });
}

describe('a claim that is taken over, on a store that writes one stream at a time', () => {
  it('brings back at once what its earlier owner paid for a code that another request’s card has', async () => {
    const world = await makeWorld({ atomic: false, credits: 5 });
    const { code } = await sendCard(world, sendRequest(world));
    const { idempotency: named } = sendRequest(world, {}, 'order-1');
    if (named === null) throw new Error('the request has no key');
    const owner = world.command();
    const ledgerRevision = await ledgerRevisionBefore(world, org);
    const left = { org, ...named, code, owner: owner.id, ledgerRevision };
    await world.idempotency.claim({ ...left, claimedAt: world.clock.instant() });
    const paid = spendFor({ card: code, revision: 0, command: owner.id }, org);
    await world.ledgers.move({ org, command: owner, movements: [paid] });
    expect(await balanceOf(world)).to.equal(3);
    world.clock.skip(600_000);
    const sent = await sendCard(world, sendRequest(world, {}, 'order-1'));
    expect([sent.code === code, sent.replay]).to.deep.equal([false, false]);
    expect(await balanceOf(world)).to.equal(3);
  });
});

describe('sends in one batch, on a store that writes one stream at a time', () => {
  it('are not delayed by a card that takes long', async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    let cards = 0;
    const world = await makeWorld({
      atomic: false,
      credits: 10,
      onWrite: async ([write]) => {
        if (write?.stream.startsWith('card-') === true && (cards += 1) === 1) await gate;
        return 'store';
      },
    });
    const sends = Array.from({ length: 5 }, () => sendCard(world, sendRequest(world)));
    const settled = new Set<number>();
    sends.forEach((send, index) => void send.then(() => settled.add(index)));
    await Promise.all(sends.slice(1));
    expect([...settled].toSorted((a, b) => a - b)).to.deep.equal([1, 2, 3, 4]);
    release();
    await Promise.all(sends);
    expect(await balanceOf(world)).to.equal(5);
    expect(await cardStreams(world)).to.equal(5);
  });
});

describe('what a send reads first, on a store that writes one stream at a time', () => {
  const readsOf = ({ store }: World, prefix: string): number =>
    [...store.reads].reduce((sum, [stream, { times }]) => sum + (stream.startsWith(prefix) ? times : 0), 0);

  /** A process that has sent a card before, and another one over the same stores. */
  const warm = async (credits: number) => {
    const world = await makeWorld({ atomic: false, credits });
    const other = world.restarted();
    await sendCard(world, sendRequest(world));
    await sendCard(other, sendRequest(other));
    world.store.reads.clear();
    return { world, other };
  };

  it('is neither the ledger nor the stream of its code once the ledger is known', async () => {
    const { world } = await warm(40);
    await sendCard(world, sendRequest(world));
    world.store.reads.clear();
    for (const key of [null, 'order-1', null, 'order-2']) await sendCard(world, sendRequest(world, {}, key));
    await Promise.all(Array.from({ length: 10 }, () => sendCard(world, sendRequest(world))));
    expect([readsOf(world, 'credits-'), readsOf(world, 'card-')]).to.deep.equal([0, 0]);
    expect(await balanceOf(world)).to.equal(40 - 2 - 1 - 14);
  });

  it('is the ledger, once, after a conflict with another process', async () => {
    const { world, other } = await warm(40);
    for (let round = 1; round <= 5; round += 1) {
      await sendCard(world, sendRequest(world));
      await sendCard(other, sendRequest(other, {}, `order-${round}`));
      expect(readsOf(world, 'credits-')).to.equal(2 * round);
    }
    expect(await balanceOf(world)).to.equal(40 - 2 - 10);
  });

  it('is the ledger before a 402: credits that another process has just bought are there', async () => {
    const { world, other } = await warm(2);
    for (const key of [null, 'order-1']) {
      const [refused] = await Promise.allSettled([sendCard(world, sendRequest(world, {}, key))]);
      expect(refused && codeOf(refused)).to.equal('no_credits');
      await buy(other, 1);
      expect((await sendCard(world, sendRequest(world, {}, key))).replay).to.equal(false);
    }
    expect(await balanceOf(other)).to.equal(0);
  });

  it('is the stream of a code that was taken, after which the credit is back and another code drawn', async () => {
    const { world } = await warm(10);
    const taken = await sendCard(world, sendRequest(world));
    const payload = Array.from(taken.code.slice(3, 9), (letter) => codeAlphabet.indexOf(letter));
    let left = 0;
    const { entropy } = world;
    const unlucky: World = {
      ...world,
      entropy: {
        uuid: () => entropy.uuid(),
        below: (limit) => entropy.below(limit),
        bytes: (count) => (count === 6 && left-- > 0 ? Buffer.from(payload) : entropy.bytes(count)),
      },
    };
    for (const key of [null, 'order-1']) {
      // The code that was paid for before is not taken again.
      left = 2;
      world.store.reads.clear();
      const sent = await sendCard(unlucky, sendRequest(unlucky, {}, key));
      expect(sent.code).not.to.equal(taken.code);
      // What fills the slot, and then the card.
      expect(world.store.reads.get(cardStream(taken.code))?.times).to.equal(2);
    }
    expect(await balanceOf(world)).to.equal(10 - 2 - 1 - 2);
    expect(await cardStreams(world)).to.equal(5);
  });
});
