import { expect } from 'chai';
import { readContact } from '../../../adapters/http/api/contact-fields.js';
import { execute, TooContended } from '../../../application/writing/execute.js';
import type { StreamWrite } from '../../../application/ports/event-store.js';
import {
  contact,
  contactIdOf,
  saveContact,
  type Contact,
  type ContactEvent,
} from '../../../domain/contact.js';
import { streamName, type Milliseconds } from '../../../domain/ids.js';
import { drive } from '../../support/simulation/drive.js';
import { makeWorld, org, type World } from '../../support/fixtures/world.js';

const id = contactIdOf(org, 'c-1');

const named = (world: World, name: string) =>
  saveContact(org, readContact({ external_id: 'c-1', name }), world.clock.instant());

/**
 * A world in which another process saves the contact right before each of the first `times` writes to it,
 * which then take a while.
 */
const racedWorld = async (times: number, take: Milliseconds = 0): Promise<World> => {
  let left = times;
  let isRivalWriting = false;
  const onWrite = async ([write]: readonly StreamWrite[]): Promise<'store'> => {
    if (write?.stream !== streamName('contact', id) || isRivalWriting || left-- <= 0) return 'store';
    isRivalWriting = true;
    await execute(world.restarted(), contact, id, world.command(), named(world, 'Bo Diaz'));
    isRivalWriting = false;
    await world.clock.sleep(take);
    return 'store';
  };
  const world: World = await makeWorld({ atomic: true, onWrite });
  return world;
};

describe('executing a command', () => {
  it('returns the events of the decision that was recorded, not of the one that met a conflict', async () => {
    const world = await racedWorld(1);
    const seen: (string | undefined)[] = [];
    const decide = (state: Contact): ContactEvent[] => {
      seen.push(state?.details?.name);
      return named(world, 'Ann Lee')(state);
    };
    const executed = await execute(world, contact, id, world.command(), decide);
    expect(seen).to.deep.equal([undefined, 'Bo Diaz']);
    expect(executed.events.map(({ type }) => type)).to.deep.equal(['ContactReplaced']);
    expect(executed.state?.details?.name).to.equal('Ann Lee');
    expect(executed.position).to.equal((await world.store.head()).position);
  });

  it('writes nothing if there is no event to record', async () => {
    const world = await makeWorld({ atomic: true });
    const head = await world.store.head();
    expect(await execute(world, contact, id, world.command(), () => [])).to.deep.equal({
      events: [],
      state: null,
      position: null,
    });
    expect(await world.store.head()).to.deep.equal(head);
  });

  it('tells where a state is that it leaves as it is', async () => {
    const world = await makeWorld({ atomic: true });
    await execute(world, contact, id, world.command(), named(world, 'Ann Lee'));
    for (const deps of [world, world.restarted()]) {
      const { position } = await execute(deps, contact, id, world.command(), () => []);
      expect(position).to.equal((await world.store.head()).position);
    }
  });

  it('gives up after 5 s of conflicts with other writers', async () => {
    const world = await racedWorld(Infinity);
    const began = world.clock.now();
    const error: unknown = await drive(
      world.clock,
      execute(world, contact, id, world.command(), named(world, 'Ann Lee')).catch(
        (thrown: unknown) => thrown,
      ),
    );
    expect(error).to.be.instanceOf(TooContended);
    expect(world.clock.now() - began).to.be.within(5_000, 5_200);
    expect((await world.streams.load(contact, id)).state?.details?.name).to.equal('Bo Diaz');
  });

  it('decides once more after a conflict, even if the first attempt took longer than that', async () => {
    const world = await racedWorld(1, 6_000);
    await drive(world.clock, execute(world, contact, id, world.command(), named(world, 'Ann Lee')));
    expect((await world.streams.load(contact, id)).state?.details?.name).to.equal('Ann Lee');
  });
});
