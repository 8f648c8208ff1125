import type { RuleName } from './rules.js';
import {
  cardIn,
  emptyMemory,
  lastRevision,
  type CardEvent,
  type Memory,
  type Movement,
  type Response,
  type Role,
  type World,
  type Write,
} from './world.js';

/** A process at its turn. */
export interface Turn {
  readonly world: World;
  /** The place of the process, which is its command's id. */
  readonly self: number;
  readonly role: Role;
  readonly memory: Memory;
  readonly keeps: (rule: RuleName) => boolean;
}

/** What may come of a step, and what happened, in words. */
export interface Next {
  /** The place of the process whose step it was, if it was one's. */
  readonly by: number | null;
  readonly happened: string;
  readonly world: World;
}

type Step = (turn: Turn) => readonly Next[];
/** The steps of a kind of process, by name. */
export type Steps = Readonly<Record<string, Step>>;

const withProcess = (
  world: World,
  place: number,
  role: Role,
  at: string,
  memory: Memory,
  response: Response | null,
): World => ({ ...world, processes: world.processes.with(place, { role, at, memory, response }) });

/** The process goes on at a step, having learnt something. */
export const goOn = (
  { world, self, role, memory }: Turn,
  happened: string,
  at: string,
  learnt: Partial<Memory> | null = null,
): Next => ({
  by: self,
  happened,
  world: withProcess(world, self, role, at, learnt === null ? memory : { ...memory, ...learnt }, null),
});

/** The process goes on at a step for which it needs nothing but this. */
export const goOnWith = (
  { world, self, role }: Turn,
  happened: string,
  at: string,
  needed: Partial<Memory>,
): Next => ({
  by: self,
  happened,
  world: withProcess(world, self, role, at, { ...emptyMemory, ...needed }, null),
});

/** The process begins again and knows nothing. */
export const startOver = ({ world, self, role }: Turn, happened: string): Next => ({
  by: self,
  happened,
  world: withProcess(world, self, role, 'start', emptyMemory, null),
});

export const end = (
  { world, self, role }: Turn,
  status: number,
  { refunded = 0, code = '' }: Partial<Response> = {},
): Next => ({
  by: self,
  happened: status === 0 ? 'is done' : `responds ${status}`,
  world: withProcess(world, self, role, 'end', emptyMemory, { status, code, refunded }),
});

/** The process is gone, with all that it knew. */
export const die = ({ world, self, role }: Turn): Next => ({
  by: self,
  happened: 'dies',
  world: withProcess({ ...world, crashes: world.crashes - 1 }, self, role, 'dead', emptyMemory, null),
});

/** The same turn, with something of the world changed by it. */
export const changing = (turn: Turn, changes: Partial<World>): Turn => ({
  ...turn,
  world: { ...turn.world, ...changes },
});

// Appends

/** A movement of the ledger, at the revision that the process has seen. */
export const moving = ({ memory, self }: Turn, cause: string, amount: number): Write => ({
  stream: 'ledger',
  expected: memory.ledgerRevision,
  event: { cause, amount, by: self },
});

const appended = (world: World, { stream, event, more = [] }: Write): World =>
  stream === 'ledger'
    ? { ...world, ledger: [...world.ledger, event as Movement, ...more] }
    : { ...world, cards: { ...world.cards, [stream]: [...cardIn(world, stream), event as CardEvent] } };

const streamIn = (world: World, stream: string): readonly (Movement | CardEvent)[] =>
  stream === 'ledger' ? world.ledger : cardIn(world, stream);

const fits = (world: World, { stream, expected }: Write): boolean =>
  lastRevision(streamIn(world, stream)) === expected;

/** Whether the same command has written the same event there: the store knows it by its id. */
const isThere = (world: World, { stream, expected, event }: Write): boolean =>
  event.by !== undefined && JSON.stringify(streamIn(world, stream)[expected + 1]) === JSON.stringify(event);

type Outcome = 'appended' | 'conflict' | 'unknown';

/**
 * Every way in which an append may end. The store takes it or not, and the process learns of it; or else it
 * learns nothing, and the append has arrived, never will, or does at any later time. Each of the latter uses
 * up one of the world's faults. `then`: what the process does about the outcome, in the world that results.
 */
export const append = (
  turn: Turn,
  write: Write,
  then: (outcome: Outcome, turn: Turn, happened: string) => Next,
): readonly Next[] => {
  const { world } = turn;
  const what =
    'amount' in write.event ? (write.event.amount < 0 ? 'the spend' : 'the return') : write.event.type;
  const ends = (outcome: Outcome, after: World, how: string): Next =>
    then(outcome, { ...turn, world: after }, `appends ${what} to ${write.stream}: ${how}`);
  const fit = fits(world, write);
  const arrived = fit
    ? ends('appended', appended(world, write), 'it is written')
    : isThere(world, write)
      ? ends('appended', world, 'it was written before')
      : ends('conflict', world, 'conflict');
  if (world.faults === 0) return [arrived];
  const worse = { ...world, faults: world.faults - 1 };
  return [
    arrived,
    ...(fit ? [ends('unknown', appended(worse, write), 'it is written, and the response is lost')] : []),
    ends('unknown', worse, 'it is lost'),
    ends('unknown', { ...worse, late: [...world.late, write] }, 'it is late'),
  ];
};

/** The worlds in which one of the late appends has landed. */
export const landings = (world: World): readonly Next[] =>
  world.late.map((write, place) => {
    const rest = { ...world, late: world.late.toSpliced(place, 1) };
    const happened = `an append to ${write.stream} that was late`;
    return fits(world, write)
      ? { by: null, happened: `${happened} lands`, world: appended(rest, write) }
      : { by: null, happened: `${happened} meets a conflict`, world: rest };
  });
