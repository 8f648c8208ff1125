import type { Life } from '../life.js';

interface Sight {
  /** The members that write. */
  readonly writes: readonly string[];
  /** The members that are not asked over a network. */
  readonly atOnce?: readonly string[];
  /** Throws while the port is away. */
  readonly assertThere: () => void;
  /** What a write throws that is lost or refused. */
  readonly Unavailable: new (message: string) => Error;
}

/** A port as a process sees it: calls take time, writes meet their fate, and nothing returns to the dead. */
export const seen = <Port extends object>(
  port: Port,
  life: Life,
  { writes, atOnce = [], assertThere, Unavailable }: Sight,
): Port => {
  const writing = new Set<string | symbol>(writes);
  const direct = new Set<string | symbol>(atOnce);
  const lost = (): never => {
    throw new Unavailable('the write was lost');
  };
  return new Proxy(port, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      const call = (args: readonly unknown[]): unknown => Reflect.apply(member, target, args);
      if (direct.has(name)) return (...args: readonly unknown[]) => call(args);
      const made = async (args: readonly unknown[]): Promise<unknown> => {
        assertThere();
        return call(args);
      };
      return writing.has(name)
        ? (...args: readonly unknown[]) => life.write(() => made(args), lost)
        : (...args: readonly unknown[]) => life.call(() => made(args));
    },
  });
};
