import {
  HookCallsUnavailable,
  unusedHook,
  type HookCall,
  type HookCalls,
  type HookUse,
} from '../../../application/ports/hook-calls.js';
import type { Uuid } from '../../../domain/ids.js';

/** The call log in memory. */
export class MemoryHookCalls implements HookCalls {
  /** While true, every call throws HookCallsUnavailable. */
  away = false;
  readonly #calls = new Map<Uuid, HookCall>();

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

  async use(hooks: readonly Uuid[]): Promise<ReadonlyMap<Uuid, HookUse>> {
    this.#assertReachable();
    return new Map(
      hooks.map((hook) => {
        const fires = this.#callsOf(hook).filter(({ card }) => card !== null);
        const last = fires.at(-1);
        return [hook, last === undefined ? unusedHook : { fireCount: fires.length, lastFiredAt: last.at }];
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
