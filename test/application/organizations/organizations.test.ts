import { expect } from 'chai';
import { execute } from '../../../application/writing/execute.js';
import { RememberedOrganizations } from '../../../application/organizations/organizations.js';
import type { ReadModels } from '../../../application/ports/read-models.js';
import { sendCard } from '../../../application/cards/send-card.js';
import { Suspensions } from '../../../application/organizations/suspensions.js';
import { foldDocument } from '../../../application/projecting/read-your-writes.js';
import { DomainError } from '../../../domain/errors.js';
import { Uuid } from '../../../domain/ids.js';
import {
  archiveDesign,
  chooseHouseHand,
  organization,
  organizationStream,
  saveDesign,
  suspendOrganization,
  type Organization,
  type OrganizationEvent,
} from '../../../domain/organization.js';
import { organizations as projected } from '../../../projections/organizations.js';
import { buy, designId, makeWorld, org, sendRequest, type World } from '../../support/fixtures/world.js';

const noId = () => Uuid.parse('6c0f6a3e-0000-4000-8000-0000000000ff');

/** Two processes over the same stores, on an event store in a server, and what they share beside them. */
const start = async (credits = 500) => {
  const world = await makeWorld({ atomic: false, credits });
  const rows = {
    /** The projections have passed it. */
    upTo: 2n ** 62n,
    looks: 0,
    areLate: false,
    fail: false,
    hang: false,
  };
  const get: ReadModels['get'] = async <Document>(projection: unknown) => {
    rows.looks += 1;
    if (rows.fail) throw new Error('no rows');
    if (rows.hang) await new Promise<never>(() => undefined);
    expect(projection).to.equal(projected);
    const log = await world.store.readLog(0n, 100_000);
    const events = log.filter(
      ({ stream, position }) => stream === organizationStream(org) && position <= rows.upTo,
    );
    const position = events.at(-1)?.position;
    return position === undefined
      ? null
      : { key: org, created: 1n, position, document: (await foldDocument(projected, events)) as Document };
  };
  const process = (of: World): World => ({
    ...of,
    organizations: new RememberedOrganizations(
      of.streams,
      { get },
      { rowsMayBeLate: () => rows.areLate },
      of.clock,
    ),
  });
  const [here, elsewhere] = [process(world), process(world.restarted())];
  const change = (decide: (state: Organization) => OrganizationEvent[]) =>
    execute(elsewhere, organization, org, elsewhere.command(), decide);
  /** What the next card of this process is like, or the refusal. */
  const next = (changes: Parameters<typeof sendRequest>[1] = {}, key: string | null = null) =>
    sendCard(here, sendRequest(here, changes, key)).then(
      ({ event }) => `${event.data.order?.handwriting} ${event.data.order?.design.id}`,
      (error: unknown) => (error instanceof DomainError ? error.code : String(error)),
    );
  const readsOf = (prefix: string): number =>
    [...world.store.reads].reduce(
      (sum, [stream, { times }]) => sum + (stream.startsWith(prefix) ? times : 0),
      0,
    );
  return { world, here, elsewhere, rows, change, next, readsOf };
};

const newDesign = (number: number) =>
  Uuid.parse(`6c0f6a3e-0000-4000-8000-0000000001${String(number).padStart(2, '0')}`);

describe('an organization that several processes send for', () => {
  it('is remembered: a send reads no stream as long as nothing was changed', async () => {
    const { world, rows, next, readsOf } = await start();
    await next();
    world.store.reads.clear();
    rows.looks = 0;
    for (let sends = 0; sends < 5; sends += 1)
      for (const key of [null, `key-${sends}`]) expect(await next({}, key)).to.equal(`Everyday ${designId}`);
    expect([readsOf(''), rows.looks]).to.deep.equal([0, 10]);
  });

  it('is known as it is to a send right after the answer to any change elsewhere, every time', async () => {
    const { change, next, readsOf, world } = await start();
    await next();
    for (let round = 0; round < 10; round += 1) {
      const design = newDesign(round);
      await change(saveDesign({ id: design, name: `Design ${round}`, slug: null }));
      expect(await next()).to.equal(`${round === 0 ? 'Everyday' : `Hand ${round - 1}`} ${design}`);
      await change(chooseHouseHand(`Hand ${round}`));
      expect(await next({}, `key-${round}`)).to.equal(`Hand ${round} ${design}`);
      await change(suspendOrganization(true));
      expect(await next()).to.equal('suspended');
      expect(await next({}, `key-${round}`)).to.equal('suspended');
      await change(suspendOrganization(false));
      expect(await next()).to.equal(`Hand ${round} ${design}`);
    }
    world.store.reads.clear();
    await next();
    expect(readsOf('organization-')).to.equal(0);
  });

  it('is read once after a change, however many send at that moment', async () => {
    const { world, change, next, readsOf } = await start();
    await next();
    const design = newDesign(1);
    await change(saveDesign({ id: design, name: 'New', slug: null }));
    world.store.reads.clear();
    const sent = await Promise.all(Array.from({ length: 64 }, () => next()));
    expect(new Set(sent)).to.deep.equal(new Set([`Everyday ${design}`]));
    expect(readsOf('organization-')).to.equal(1);
  });

  it('is read before a refusal, which a change that nobody was told of yet may have overtaken', async () => {
    const { world, rows, change, next, readsOf, elsewhere } = await start(0);
    await change(archiveDesign(designId));
    expect(await next()).to.equal('no_design_available');
    // The row is from before these changes: their answers are still waiting for it.
    rows.upTo = (await world.store.head()).position;
    expect(await next()).to.equal('no_design_available');
    const design = newDesign(1);
    await change(saveDesign({ id: design, name: 'New', slug: null }));
    expect(await next()).to.equal('no_credits');
    await buy(elsewhere, 10);
    expect(await next()).to.equal(`Everyday ${design}`);
    expect(await next({ designId: { value: design } }, 'a-key')).to.equal(`Everyday ${design}`);
    expect(await next({ designId: { value: noId() } })).to.equal('design_not_found');
    await change(suspendOrganization(true));
    rows.upTo = 2n ** 62n;
    expect(await next()).to.equal('suspended');
    rows.upTo = (await world.store.head()).position;
    await change(suspendOrganization(false));
    expect(await next()).to.equal(`Everyday ${design}`);
    expect(readsOf('organization-')).to.be.above(0);
  });

  it('is read from its stream while rows may be late, fail, or come too slowly', async () => {
    for (const trouble of ['areLate', 'fail', 'hang'] as const) {
      const { world, rows, change, next, here } = await start();
      await next();
      rows[trouble] = true;
      // The projections stand still: the rows know nothing of the change.
      rows.upTo = (await world.store.head()).position;
      const design = newDesign(1);
      await change(saveDesign({ id: design, name: 'New', slug: null }));
      const sending = next();
      if (trouble === 'hang') await here.clock.advance(300);
      expect(await sending, trouble).to.equal(`Everyday ${design}`);
      rows[trouble] = false;
      rows.upTo = 2n ** 62n;
      await here.clock.advance(1_000);
      expect(await next(), trouble).to.equal(`Everyday ${design}`);
    }
  });

  it('is read again after 5 s, when a change may have been acknowledged without its row', async () => {
    const { world, rows, change, next, here } = await start();
    await next();
    rows.upTo = (await world.store.head()).position;
    const design = newDesign(1);
    await change(saveDesign({ id: design, name: 'New', slug: null }));
    await here.clock.advance(4_000);
    expect(await next()).to.equal(`Everyday ${designId}`);
    await here.clock.advance(1_000);
    expect(await next()).to.equal(`Everyday ${design}`);
  });
});

describe('requests of a suspended organization', () => {
  it('are refused on what the stream says: a suspension that has ended elsewhere refuses nobody', async () => {
    const { here, change } = await start();
    const suspensions = new Suspensions(here.streams, here.clock, here.organizations);
    await change(suspendOrganization(true));
    expect(await suspensions.refuses(org)).to.equal(true);
    for (let round = 0; round < 5; round += 1) {
      await change(suspendOrganization(false));
      expect(await suspensions.refuses(org)).to.equal(false);
      await change(suspendOrganization(true));
      await here.clock.advance(5_000);
      expect(await suspensions.refuses(org)).to.equal(true);
    }
  });

  it('share one read when what is known of it gets too old', async () => {
    const { world, here, readsOf } = await start();
    const suspensions = new Suspensions(here.streams, here.clock, here.organizations);
    await suspensions.isSuspended(org);
    await here.clock.advance(5_000);
    world.store.reads.clear();
    await Promise.all(Array.from({ length: 64 }, () => suspensions.refuses(org)));
    expect(readsOf('organization-')).to.equal(1);
  });
});
