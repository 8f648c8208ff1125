import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerTtl, type KeyClaim } from '../../../application/ports/idempotency-store.js';
import { idempotencyStoreContract } from '../../contract/idempotency-store.js';
import type { CommandId, Instant, OrganizationId } from '../../../domain/ids.js';
import { inNewDirectory, openDirectory, openNew, start } from './setup.js';

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

const claimAt = (at: number): KeyClaim => ({
  org: 'org-1' as OrganizationId,
  key: 'key',
  body: 'body',
  code: 'HC-AAAAAAA',
  owner: 'command-1' as CommandId,
  ledgerRevision: 0,
  claimedAt: new Date(at).toISOString() as Instant,
});

it('keeps a key through a restart if the machine slept for days before it came', () =>
  inNewDirectory(async (directory) => {
    const days = 3 * answerTtl;
    const before = await openDirectory(directory, { isNotarized: false });
    before.clock.set(start + days);
    await before.idempotencyStore.claim(claimAt(start));
    await before.idempotencyStore.complete(claimAt(start));
    await before.close();
    const after = await openDirectory(directory, { isNotarized: false });
    const outcome = await after.idempotencyStore.claim(claimAt(start + days));
    await after.close();
    expect(outcome).to.deep.equal({ kind: 'completed', code: 'HC-AAAAAAA' });
  }));

it('reports damage if the keys can not be read', () =>
  inNewDirectory(async (directory) => {
    await (await openDirectory(directory, { isNotarized: false })).close();
    const path = join(directory, 'events.db');
    const database = new DatabaseSync(path);
    const found: unknown = database
      .prepare("select rootpage as page from sqlite_master where name = 'idempotency_keys'")
      .get();
    database.close();
    const { page } = found as { readonly page: number };
    writeFileSync(path, readFileSync(path).fill('x', (page - 1) * 4_096, page * 4_096));
    const file = await openDirectory(directory, { isNotarized: false });
    const [outcome] = await Promise.allSettled([file.idempotencyStore.claim(claimAt(start))]);
    await file.close();
    expect(outcome).to.have.nested.property('reason.name', 'IdempotencyUnavailable');
    expect(file.damage.map(({ reason }) => reason)).to.deep.equal(['database disk image is malformed']);
  }));
