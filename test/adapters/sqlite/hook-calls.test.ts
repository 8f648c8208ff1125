import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteHookCalls } from '../../../adapters/sqlite/records/hook-calls.js';
import { newestKept, type HookCall } from '../../../application/ports/hook-calls.js';
import type { Instant, OrganizationId, Uuid } from '../../../domain/ids.js';
import { hookCallsContract } from '../../contract/hook-calls.js';
import { inNewDirectory, openDirectory } from './setup.js';

hookCallsContract('SQLite', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'cards-sqlite-'));
  let file = await openDirectory(directory);
  return {
    calls: sqliteHookCalls(file),
    reopen: async () => {
      await file.close();
      file = await openDirectory(directory);
      return sqliteHookCalls(file);
    },
    close: async () => {
      await file.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
});

describe('hook calls in SQLite', () => {
  const hooks = ['hook-a', 'hook-b'] as const;
  const old = '2026-03-01T12:00:00.000Z';
  const call = (hook: string, number: number, at: string): HookCall => ({
    id: `${hook}-${number}` as Uuid,
    hook: hook as Uuid,
    org: 'org-1' as OrganizationId,
    at: at as Instant,
    status: 201,
    code: null,
    card: `HC-${number}`,
    requestId: `req_${number}`,
  });

  it('are removed once they are old and 1,000 later ones of their hook are there, and stay counted', () =>
    inNewDirectory(async (directory) => {
      const file = await openDirectory(directory);
      const calls = sqliteHookCalls(file);
      const [many, fewOld] = hooks;
      await Promise.all([
        ...Array.from({ length: newestKept + 450 }, (_, number) => calls.record(call(many, number, old))),
        ...Array.from({ length: newestKept + 20 }, (_, number) =>
          calls.record(call(fewOld, number, number < 5 ? old : '2026-03-20T12:00:00.000Z')),
        ),
      ]);
      const numbersOf = async (hook: string) =>
        ((await calls.page(hook as Uuid, { startingAfter: null, limit: 5_000 })) ?? []).map(({ id }) =>
          Number(id.slice(hook.length + 1)),
        );
      const before = Date.parse('2026-03-10T00:00:00.000Z');
      await calls.removeOld(before, AbortSignal.abort());
      expect((await numbersOf(many)).length).to.equal(newestKept + 450);
      await calls.removeOld(before, new AbortController().signal);
      const left = await numbersOf(many);
      expect([left.length, left[0], left.at(-1)]).to.deep.equal([newestKept, newestKept + 449, 450]);
      const leftOfOther = await numbersOf(fewOld);
      expect([leftOfOther.length, leftOfOther.at(-1)]).to.deep.equal([newestKept + 15, 5]);
      const use = await calls.use(hooks.map((hook) => hook as Uuid));
      expect([...use.values()].map(({ fireCount }) => fireCount)).to.deep.equal([
        newestKept + 450,
        newestKept + 20,
      ]);
      await file.close();
    }));

  it('are removed behind those that were recorded while the clock was ahead', () =>
    inNewDirectory(async (directory) => {
      const file = await openDirectory(directory);
      const calls = sqliteHookCalls(file);
      const record = async (from: number, many: number, at: string) =>
        Promise.all(
          Array.from({ length: many }, (_, number) => calls.record(call('hook-a', from + number, at))),
        );
      await record(0, 250, '2027-03-01T12:00:00.000Z');
      await record(250, 300, old);
      await record(550, newestKept, '2026-03-20T12:00:00.000Z');
      await calls.removeOld(Date.parse('2026-03-10T00:00:00.000Z'), new AbortController().signal);
      const left = await calls.page('hook-a' as Uuid, { startingAfter: null, limit: 5_000 });
      expect(left?.filter(({ at }) => at === old)).to.deep.equal([]);
      expect(left).to.have.lengthOf(newestKept + 250);
      await file.close();
    }));
});
