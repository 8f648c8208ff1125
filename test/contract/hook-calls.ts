import { expect } from 'chai';
import type { HookCall, HookCalls } from '../../application/ports/hook-calls.js';
import type { Instant, OrganizationId, Uuid } from '../../domain/ids.js';

const org = 'org-1' as OrganizationId;
const hookA = 'hook-a' as Uuid;
const hookB = 'hook-b' as Uuid;
const nobody = 'hook-c' as Uuid;
const unused = { fireCount: 0, lastFiredAt: null };

const call = (number: number, more: Partial<HookCall> = {}): HookCall => ({
  id: `call-${number}` as Uuid,
  hook: hookA,
  org,
  at: `2026-03-01T12:00:${String(number).padStart(2, '0')}.000Z` as Instant,
  status: 201,
  code: null,
  card: `HC-${number}`,
  requestId: `req_${number}`,
  ...more,
});

const refused = (number: number): HookCall =>
  call(number, { status: 422, code: 'invalid_recipient', card: null });

interface Opened {
  readonly calls: HookCalls;
  /** The same log after a restart, if it is durable. */
  readonly reopen?: () => Promise<HookCalls>;
  readonly close: () => Promise<void>;
}

/** What every HookCalls promises. `open` is called for each test. */
export const hookCallsContract = (name: string, open: () => Promise<Opened>): void => {
  describe(`the hook calls contract: ${name}`, () => {
    const using = async (
      run: (calls: HookCalls, reopen: Opened['reopen']) => Promise<void>,
    ): Promise<void> => {
      const { calls, reopen, close } = await open();
      try {
        await run(calls, reopen);
      } finally {
        await close();
      }
    };

    it('returns every recorded call whole, latest recorded first', () =>
      using(async (calls) => {
        const early = { ...call(3), at: '2026-01-01T00:00:00.000Z' as Instant };
        for (const each of [call(1), refused(2), early]) await calls.record(each);
        expect(await calls.page(hookA, { startingAfter: null, limit: 50 })).to.deep.equal([
          early,
          refused(2),
          call(1),
        ]);
      }));

    it('returns pages after a call of the same hook', () =>
      using(async (calls) => {
        for (const number of [1, 2, 3, 4, 5]) await calls.record(call(number));
        await calls.record(call(6, { hook: hookB }));
        expect(await calls.page(hookA, { startingAfter: null, limit: 2 })).to.deep.equal([call(5), call(4)]);
        expect(await calls.page(hookA, { startingAfter: 'call-4', limit: 2 })).to.deep.equal([
          call(3),
          call(2),
        ]);
        expect(await calls.page(hookA, { startingAfter: 'call-1', limit: 2 })).to.deep.equal([]);
        expect(await calls.page(hookA, { startingAfter: 'call-6', limit: 2 })).to.equal(null);
        expect(await calls.page(hookA, { startingAfter: 'nowhere', limit: 2 })).to.equal(null);
        expect(await calls.page(hookB, { startingAfter: null, limit: 2 })).to.deep.equal([
          call(6, { hook: hookB }),
        ]);
      }));

    it('counts the calls that made a card as fires', () =>
      using(async (calls) => {
        for (const each of [call(1), refused(2), call(3), refused(4), { ...refused(5), hook: hookB }])
          await calls.record(each);
        const use = await calls.use([hookA, hookB, nobody]);
        expect(use.get(hookA)).to.deep.equal({ fireCount: 2, lastFiredAt: call(3).at });
        expect(use.get(hookB) ?? unused).to.deep.equal(unused);
        expect(use.get(nobody) ?? unused).to.deep.equal(unused);
        expect([...(await calls.use([])).keys()]).to.deep.equal([]);
      }));

    it('records a call once, even if it is recorded again', () =>
      using(async (calls) => {
        await calls.record(call(1));
        await calls.record(call(1));
        expect(await calls.page(hookA, { startingAfter: null, limit: 50 })).to.deep.equal([call(1)]);
        expect((await calls.use([hookA])).get(hookA)).to.deep.equal({
          fireCount: 1,
          lastFiredAt: call(1).at,
        });
      }));

    it('counts every call when many are recorded at once', () =>
      using(async (calls) => {
        await Promise.all(
          Array.from({ length: 200 }, (_, number) =>
            calls.record(number % 2 === 0 ? call(number) : refused(number)),
          ),
        );
        expect((await calls.use([hookA])).get(hookA)?.fireCount).to.equal(100);
        expect((await calls.page(hookA, { startingAfter: null, limit: 500 }))?.length).to.equal(200);
      }));

    it('keeps calls and counts across a restart, if the log is durable', () =>
      using(async (calls, reopen) => {
        await calls.record(call(1));
        const again = reopen === undefined ? calls : await reopen();
        expect(await again.page(hookA, { startingAfter: null, limit: 50 })).to.deep.equal([call(1)]);
        expect((await again.use([hookA])).get(hookA)).to.deep.equal({
          fireCount: 1,
          lastFiredAt: call(1).at,
        });
      }));
  });
};
