import { expect } from 'chai';
import { Authenticator } from '../../application/authenticate.js';
import { execute } from '../../application/execute.js';
import { apiKey, issueKey, keyIdOf, revokeKey, secretFrom } from '../../domain/api-key.js';
import { DomainError } from '../../domain/errors.js';
import { makeWorld, org } from '../support/fixtures/world.js';
import { MemoryKeyUses } from '../support/memory/key-uses.js';

const secret = secretFrom(Buffer.alloc(32, 7));
const id = keyIdOf(secret);

/** A key, and two processes that may be asked for its holder. */
const start = async () => {
  const world = await makeWorld({ atomic: true });
  const key = { org, label: null, scopes: ['cards:read' as const], requestsPerMinute: null };
  await execute(world, apiKey, id, world.command(), issueKey(key));
  const process = ({ streams }: typeof world) => {
    const authenticator = new Authenticator(streams, world.clock, new MemoryKeyUses());
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

  it('uses cached keys while the event store is unavailable, and fails for keys that it never saw', async () => {
    const { world, here, elsewhere } = await start();
    expect(await here.ask()).to.equal('let in');
    world.store.away = true;
    await world.clock.advance(60_000);
    expect([await here.ask(), await elsewhere.ask()]).to.deep.equal(['let in', 'failed']);
  });
});
