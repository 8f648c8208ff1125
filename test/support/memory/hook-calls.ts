import {
  HookCallsUnavailable,
  newestKept,
  unusedHook,
  type HookCall,
  type HookCalls,
  type HookUse,
} from '../../../application/ports/hook-calls.js';
import type { Milliseconds, Uuid } from '../../../domain/ids.js';

/** The call log in memory. */
export class MemoryHookCalls implements HookCalls {
  /** While true, every call throws HookCallsUnavailable. */
  away = false;
  readonly #calls = new Map<Uuid, HookCall>();
  readonly #removedFires = new Map<Uuid, number>();

  async record(call: HookCall): Promise<void> {
    this.#assertReachable();
    if (!this.#calls.has(call.id)) this.#calls.set(call.id, call);
  }

  async page(
    hook: Uuid,
    { startingAfter, limit }: { readonly startingAfter: string | null; readonly limit: number },
  ): Promise<readonly HookCall[] | null> {
    this.#assertReachable();
    const calls = this.#callsOf(hook).reverse();
    if (startingAfter === null) return calls.slice(0, limit);
    const index = calls.findIndex(({ id }) => id === startingAfter);
    return index === -1 ? null : calls.slice(index + 1, index + 1 + limit);
  }

  async removeOld(before: Milliseconds): Promise<void> {
    this.#assertReachable();
    for (const hook of new Set([...this.#calls.values()].map((call) => call.hook)))
      for (const call of this.#callsOf(hook).slice(0, -newestKept))
        if (Date.parse(call.at) < before && this.#calls.delete(call.id) && call.card !== null)
          this.#removedFires.set(hook, (this.#removedFires.get(hook) ?? 0) + 1);
  }

  async use(hooks: readonly Uuid[]): Promise<ReadonlyMap<Uuid, HookUse>> {
    this.#assertReachable();
    return new Map(
      hooks.map((hook) => {
        const fires = this.#callsOf(hook).filter(({ card }) => card !== null);
        const last = fires.at(-1);
        const fireCount = fires.length + (this.#removedFires.get(hook) ?? 0);
        return [hook, last === undefined ? unusedHook : { fireCount, lastFiredAt: last.at }];
      }),
    );
  }

  #callsOf(hook: Uuid): HookCall[] {
    return [...this.#calls.values()].filter((call) => call.hook === hook);
  }

  #assertReachable() {
    if (this.away) throw new HookCallsUnavailable('the call log is away');
  }
}
