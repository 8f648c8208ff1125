import { expect } from 'chai';
import { answerTtl } from '../../../application/ports/idempotency-store.js';
import { idempotencyStoreContract } from '../../contract/idempotency-store.js';
import { openNew } from './setup.js';

idempotencyStoreContract('SQLite', async () => {
  const file = await openNew();
  return { store: file.idempotencyStore, setClock: file.clock.set, close: file.close };
});

it('ages keys by the time that passes, whatever the clock is set to', async () => {
  const { idempotencyStore, clock, close } = await openNew();
  const began = idempotencyStore.clock.now();
  clock.set(began + answerTtl);
  expect(idempotencyStore.clock.now()).to.equal(began);
  await clock.sleep(1_000);
  expect(idempotencyStore.clock.now()).to.equal(began + 1_000);
  await close();
});
