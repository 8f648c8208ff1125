import { expect } from 'chai';
import { Authenticator } from '../../../application/access/authenticate.js';
import { Suspensions } from '../../../application/organizations/suspensions.js';
import { execute } from '../../../application/writing/execute.js';
import {
  apiKey,
  issueKey,
  issueOperatorKey,
  keyIdOf,
  revokeKey,
  secretFrom,
} from '../../../domain/api-key.js';
import { EventStoreUnavailable } from '../../../application/ports/event-store.js';
import { DomainError } from '../../../domain/errors.js';
import { Instant } from '../../../domain/ids.js';
import { organization, suspendOrganization } from '../../../domain/organization.js';
import { makeWorld, org } from '../../support/fixtures/world.js';
import { MemoryKeyUses } from '../../support/memory/key-uses.js';

const secret = secretFrom(Buffer.alloc(32, 7));
const id = keyIdOf(secret);

/** A key, and two processes that may be asked for its holder. */
const start = async () => {
  const world = await makeWorld({ atomic: true });
  const key = { org, label: null, scopes: ['cards:read' as const], requestsPerMinute: null };
  await execute(world, apiKey, id, world.command(), issueKey(key));
  const process = ({ streams }: typeof world) => {
    const authenticator = new Authenticator(
      streams,
      world.clock,
      new MemoryKeyUses(),
      new Suspensions(streams, world.clock),
    );
    const ask = () =>
      authenticator.authenticate(secret).then(
        () => 'let in',
        (error: unknown) => (error instanceof DomainError ? error.code : 'failed'),
      );
    return { ask, forget: () => authenticator.forget(id) };
  };
  const revoke = () => execute(world, apiKey, id, world.command(), revokeKey(org));
  return { world, here: process(world), elsewhere: process(world.restarted()), revoke };
};

describe('the check of an API key', () => {
  it('refuses a revoked key at once in the process that revoked it, and within 5 s in others', async () => {
    const { world, here, elsewhere, revoke } = await start();
    expect([await here.ask(), await elsewhere.ask()]).to.deep.equal(['let in', 'let in']);
    await revoke();
    here.forget();
    expect(await here.ask()).to.equal('revoked_key');
    await world.clock.advance(5_000);
    expect(await elsewhere.ask()).to.equal('revoked_key');
  });

  it('refuses it as soon where the clock of the machine is set back meanwhile', async () => {
    const { world, elsewhere, revoke } = await start();
    expect(await elsewhere.ask()).to.equal('let in');
    await revoke();
    world.clock.set(world.clock.now() - 3_600_000);
    await world.clock.advance(5_000);
    expect(await elsewhere.ask()).to.equal('revoked_key');
  });

  it('refuses a key that has expired, however well it is known', async () => {
    const { world } = await start();
    const passing = secretFrom(Buffer.alloc(32, 9));
    const expiresAt = Instant.parse(new Date(world.clock.now() + 2_000).toISOString());
    const key = { label: null, scopes: ['operator:audit' as const], expiresAt };
    await execute(world, apiKey, keyIdOf(passing), world.command(), issueOperatorKey(key));
    const suspensions = new Suspensions(world.streams, world.clock);
    const authenticator = new Authenticator(world.streams, world.clock, new MemoryKeyUses(), suspensions);
    const ask = () =>
      authenticator.authenticate(passing).then(
        () => 'let in',
        (error: unknown) => (error instanceof DomainError ? error.code : 'failed'),
      );
    expect(await ask()).to.equal('let in');
    await world.clock.advance(2_000);
    expect(await ask()).to.equal('revoked_key');
  });

  it('uses cached keys while the event store is unavailable, and fails for keys that it never saw', async () => {
    const { world, here, elsewhere } = await start();
    expect(await here.ask()).to.equal('let in');
    world.store.away = true;
    await world.clock.advance(60_000);
    expect([await here.ask(), await elsewhere.ask()]).to.deep.equal(['let in', 'failed']);
  });
});

describe('the check of a suspension', () => {
  const begin = async () => {
    const world = await makeWorld({ atomic: true });
    const here = new Suspensions(world.streams, world.clock);
    const elsewhere = new Suspensions(world.restarted().streams, world.clock);
    const suspend = (suspended: boolean) =>
      execute(world, organization, org, world.command(), suspendOrganization(suspended));
    return { world, here, elsewhere, suspend };
  };

  it('sees one at once in the process that made it, and within 5 s in others', async () => {
    const { world, here, elsewhere, suspend } = await begin();
    expect([await here.isSuspended(org), await elsewhere.isSuspended(org)]).to.deep.equal([false, false]);
    await suspend(true);
    expect(await here.isSuspended(org)).to.equal(true);
    await world.clock.advance(5_000);
    expect(await elsewhere.isSuspended(org)).to.equal(true);
    await suspend(false);
    expect(await here.isSuspended(org)).to.equal(false);
    await world.clock.advance(5_000);
    expect(await elsewhere.isSuspended(org)).to.equal(false);
  });

  it('goes by what it saw last while the event store is away', async () => {
    const { world, elsewhere, suspend } = await begin();
    await suspend(true);
    expect(await elsewhere.isSuspended(org)).to.equal(true);
    world.store.away = true;
    await world.clock.advance(60_000);
    expect(await elsewhere.isSuspended(org)).to.equal(true);
    const unseen = new Suspensions(world.restarted().streams, world.clock);
    const asked = await unseen.isSuspended(org).catch((error: unknown) => error);
    expect(asked).to.be.instanceOf(EventStoreUnavailable);
  });
});
