import { expect } from 'chai';
import { readContact } from '../../../adapters/http/api/contact-fields.js';
import { changeCard } from '../../../application/cards/change-card.js';
import { executeOnce } from '../../../application/writing/execute.js';
import { keyRing } from '../../../application/personal/key-ring.js';
import { purchaseBy, ledger, ledgerStream } from '../../../domain/credits.js';
import { personalSeal } from '../../../application/personal/personal.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { Streams } from '../../../application/writing/streams.js';
import { cancel, card, cardStream, queue, release, reportStep } from '../../../domain/card.js';
import { contact, contactIdOf, saveContact } from '../../../domain/contact.js';
import { members } from '../../../domain/members.js';
import { balanceOf, buy, makeWorld, org, sendRequest, type World } from '../../support/fixtures/world.js';
import { SeededEntropy } from '../../support/memory/entropy.js';
import { MemoryPersonalKeys } from '../../support/memory/personal-keys.js';
import { sign, unsealed } from '../../support/fixtures/seal-events.js';

const movements = 3_000;

/** A world whose organization has moved credits thousands of times. */
const longLived = async (atomic: boolean): Promise<World> => {
  const world = await makeWorld({ atomic });
  for (let made = 0; made < movements; made += 100) {
    const command = world.command();
    const purchases = Array.from({ length: 100 }, () => purchaseBy(world.command(), org, 1, null));
    await world.ledgers.move({ org, command, movements: purchases });
  }
  world.store.reads.clear();
  return world;
};

const ledgerReads = ({ store }: World) => store.reads.get(ledgerStream(org)) ?? { times: 0, events: 0 };

for (const atomic of [true, false]) {
  const store = `a store that ${atomic ? 'commits several streams at once' : 'writes one stream at a time'}`;

  describe(`an organization that has moved credits thousands of times, on ${store}`, () => {
    it('has its first send after a start read a handful of events', async () => {
      const world = (await longLived(atomic)).restarted();
      await sendCard(world, sendRequest(world, {}, 'a-key'));
      expect(ledgerReads(world).events).to.be.at.most(2);
      expect(await balanceOf(world)).to.equal(movements - 1);
    });

    it('has a process that knows an old balance read a few events, however many others have made', async () => {
      const world = await longLived(atomic);
      const other = world.restarted();
      expect(await balanceOf(other)).to.equal(movements);
      for (let more = 0; more < 50; more += 1) await buy(world, 1);
      world.store.reads.clear();
      await sendCard(other, sendRequest(other));
      expect(ledgerReads(other).events).to.be.at.most(20);
      expect(await balanceOf(other)).to.equal(movements + 49);
    });
  });

  it(`never lets the times of a stream go back, whichever clocks wrote it, on ${store}`, async () => {
    const world = await makeWorld({ atomic, credits: 1 });
    const { code } = await sendCard(world, sendRequest(world));
    const { clock } = world;
    clock.set(clock.now() - 30_000);
    await changeCard(world.restarted(), { code, org }, world.command(), cancel);
    clock.set(clock.now() + 60_000);
    await buy(world, 5);
    for (const stream of [ledgerStream(org), cardStream(code)]) {
      const times = (await world.store.readStream(stream, 0)).map(({ metadata }) => metadata.occurredAt);
      expect(times).to.deep.equal(times.toSorted());
    }
  });

  describe(`a change of a card, on ${store}`, () => {
    const sent = async () => {
      const world = await makeWorld({ atomic, credits: 10 });
      const { code } = await sendCard(world, sendRequest(world));
      world.store.reads.clear();
      return { world, target: { code, org } };
    };

    it('does not look at the ledger if no credit moves on the floor', async () => {
      const { world, target: sentCard } = await sent();
      const target = { ...sentCard, org: null };
      await changeCard(world, target, world.command(), queue);
      await changeCard(
        world,
        target,
        world.command(),
        reportStep('card_stock_prepared', 'in_progress', 'm-1'),
      );
      expect(ledgerReads(world).times).to.equal(0);
    });

    it('looks at the ledger if a credit comes back, or pays for a release', async () => {
      const { world, target } = await sent();
      await changeCard(world, target, world.command(), cancel);
      expect(ledgerReads(world).times).to.be.above(0);
      const held = await sendCard(world, sendRequest(world, { message: { value: 'Great work 🎉' } }));
      world.store.reads.clear();
      await changeCard(world, { code: held.code, org }, world.command(), release);
      expect(ledgerReads(world).times).to.be.above(0);
      expect(await balanceOf(world)).to.equal(9);
      expect(await world.store.readStream(cardStream(held.code), 0)).to.have.length(2);
    });
  });
}

describe('a search behind a revision of the ledger', () => {
  it('finds what is appended between its two reads', async () => {
    const world = await makeWorld({ atomic: false, credits: 1 });
    const { revision } = await world.streams.load(ledger, org);
    const other = world.restarted();
    const empty = other.store.readStream.bind(other.store);
    let isFirst = true;
    other.store.readStream = async (...args) => {
      const found = await empty(...args);
      if (isFirst) await buy(world, 5);
      isFirst = false;
      return found;
    };
    const seen: number[] = [];
    const found = await other.streams.loadAfter(ledger, org, revision, (event) => seen.push(event.revision));
    expect({ seen, at: found.revision }).to.deep.equal({ seen: [revision + 1], at: revision + 1 });
  });
});

describe('a look for what a command has recorded', () => {
  it('waits until personal data can be sealed, as every load does', async () => {
    const world = await makeWorld({ atomic: true });
    const ring = keyRing({
      store: new MemoryPersonalKeys(),
      masters: [{ id: 'a', key: Buffer.alloc(32, 1) }],
      clock: world.clock,
      entropy: new SeededEntropy(1),
    });
    const streams = new Streams(world.store, { ...personalSeal(ring, world.entropy), sign });
    const command = world.command();
    const id = contactIdOf(org, 'c-1');
    const save = saveContact(org, readContact({ external_id: 'c-1', name: 'Ann' }), command.at);
    const { events } = await executeOnce({ ...world, streams }, contact, id, command, save);
    expect(events.map(({ type }) => type)).to.deep.equal(['ContactCreated']);
  });
});

describe('keys for personal data', () => {
  const waitsOf = async (load: (streams: Streams) => Promise<unknown>): Promise<number> => {
    const world = await makeWorld({ atomic: true });
    let waits = 0;
    const ready = async () => void (waits += 1);
    await load(new Streams(world.store, { ...unsealed, ready }));
    return waits;
  };

  it('are waited for before a stream that may hold personal data is changed', async () => {
    expect(await waitsOf((streams) => streams.load(members, org))).to.equal(1);
    expect(await waitsOf((streams) => streams.loadAfter(card, 'HC-2B8W4RT', -1, () => undefined))).to.equal(
      1,
    );
  });

  it('are not waited for before a stream without any is changed', async () => {
    expect(await waitsOf((streams) => streams.load(ledger, org))).to.equal(0);
  });
});
