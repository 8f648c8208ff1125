import { LazyLru } from '../../application/memory/lazy-lru.js';
import { TooManySignIns, type PasswordClient } from '../../application/ports/passwords.js';

const maxRemembered = 10_000;

interface Waiting extends PasswordClient {
  readonly begin: () => void;
  readonly refuse: (error: TooManySignIns) => void;
}

export interface TurnLimits {
  /** How many work at a time. */
  readonly atOnce: number;
  /** How many of one client work or wait. */
  readonly maxPlacesOfOne: number;
  readonly maxWaiting: number;
  /** Says in a refusal what is done with passwords. */
  readonly what: string;
}

/** Work on passwords, in turns that no client can take from the others. */
export const fairTurns = ({ atOnce, maxPlacesOfOne, maxWaiting, what }: TurnLimits) => {
  const tooMany = (): TooManySignIns => new TooManySignIns(`too many passwords are being ${what}`);
  let waiting: readonly Waiting[] = [];
  const running: string[] = [];
  /** The number of the last turn of each, unless its password was right. */
  const turns = new LazyLru<string, number>(maxRemembered);
  let turn = 0;

  const begin = (from: string): void => {
    running.push(from);
    turns.set(from, (turn += 1));
  };

  /**
   * Known browsers come first: few at once, and few a minute. Then comes the client whose network had a turn
   * least recently, so that many tries of few clients delay only those few. Among networks that had none, the
   * first try of each comes before any second one. Among equals the newest comes first: under a flood, the
   * oldest have been given up.
   */
  const inOrder = (): readonly Waiting[] => {
    const tries = new Map<string, number>();
    const ranked = waiting.map((each) => {
      const { from, isKnown = false } = each;
      const before = tries.get(from) ?? 0;
      tries.set(from, before + 1);
      return { each, rank: isKnown ? 0 : 1, turn: turns.peek(from) ?? 0, before };
    });
    return ranked
      .toReversed()
      .sort((one, other) => one.rank - other.rank || one.turn - other.turn || one.before - other.before)
      .map(({ each }) => each);
  };

  const remove = (gone: Waiting): void => {
    waiting = waiting.filter((each) => each !== gone);
  };

  /** Where too many wait, the one whose turn would come last waits no longer. */
  const wait = (client: PasswordClient): Promise<void> =>
    new Promise((resolve, refuse) => {
      waiting = [...waiting, { ...client, begin: resolve, refuse }];
      const last = waiting.length > maxWaiting ? inOrder().at(-1) : undefined;
      if (last === undefined) return;
      remove(last);
      last.refuse(tooMany());
    });

  /** Throws TooManySignIns. */
  const take = async <T>(client: PasswordClient, work: () => Promise<T>): Promise<T> => {
    const { from } = client;
    const taken = [...running, ...waiting.map((each) => each.from)];
    if (taken.filter((each) => each === from).length >= maxPlacesOfOne) throw tooMany();
    if (running.length < atOnce) begin(from);
    else await wait(client);
    try {
      return await work();
    } finally {
      running.splice(running.indexOf(from), 1);
      const [next] = inOrder();
      if (next !== undefined) {
        remove(next);
        begin(next.from);
        next.begin();
      }
    }
  };

  /** The last turn of a client doesn't count any more. */
  const forget = (from: string): void => {
    turns.delete(from);
  };

  return { take, forget };
};
