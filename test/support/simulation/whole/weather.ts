/**
 * What troubles a run of the whole service. Numbers are out of a thousand where nothing else is said. A new
 * trouble is a field here, a line in `weathers`, and the place that makes it happen.
 */
export interface Weather {
  /** Writes at which their process dies. */
  readonly deaths: number;
  /** Writes that are lost, or whose answer is. */
  readonly losses: number;
  /** Writes that arrive minutes after their writer gave up. */
  readonly late: number;
  /** Writes that the database refuses. */
  readonly refusals: number;
  /** Calls of a store that take minutes. */
  readonly stalls: number;
  /** How many ms the other calls of a store take at most. */
  readonly slowest: number;
  /** Attempts that a receiver answers with an error. */
  readonly failing: number;
  /** Attempts that a receiver never answers. */
  readonly hanging: number;
  /** Attempts that a receiver handles and says it has not, or the other way round. */
  readonly lying: number;
  /** Hints that are lost, come twice, or come seconds later. */
  readonly hints: number;
  /** Draws of a card's code that give a code which was drawn before. */
  readonly codes: number;
  /** Calls before which a client deletes an endpoint. */
  readonly leaving: number;
  /** How often the clock of a process is set, and by how many ms at most. */
  readonly steps: number;
  readonly farthest: number;
  /** By how many ms the clock of a process is off at most when it starts. */
  readonly skew: number;
  /** By how much the clock of a process runs fast or slow at most. */
  readonly drift: number;
  /** How often the machine of a process is suspended, for up to `maxSuspension` each time. */
  readonly suspensions: number;
  /** How many times a day passes in which nobody does anything. */
  readonly days: number;
  /** How many times each of these goes away for up to three minutes. */
  readonly away: Partial<Record<Part, number>>;
  /** Whether the first processes are of the version before, and all are restarted in the middle. */
  readonly release: boolean;
  /** How many records of others there are before an event of ours at most, where processes share a log. */
  readonly others: number;
  /** Whether projector and relay begin to work only in the middle. */
  readonly backlog: boolean;
}

/** How long a machine is suspended at most, in ms. */
export const maxSuspension = 600_000;

export const parts = [
  'events',
  'readModels',
  'deliveries',
  'keys',
  'personalKeys',
  'projector',
  'relay',
] as const;
export type Part = (typeof parts)[number];

export const fair: Weather = {
  deaths: 0,
  losses: 0,
  late: 0,
  refusals: 0,
  stalls: 0,
  slowest: 8,
  failing: 0,
  hanging: 0,
  lying: 0,
  hints: 0,
  codes: 0,
  leaving: 0,
  steps: 0,
  farthest: 600_000,
  skew: 0,
  drift: 0,
  suspensions: 0,
  days: 0,
  away: {},
  others: 0,
  release: false,
  backlog: false,
};

/** Each trouble by itself, by name. */
export const weathers = {
  fair: {},
  'dying processes': { deaths: 12 },
  'processes that die all the time': { deaths: 50 },
  'lost writes': { losses: 40 },
  'late writes': { late: 30 },
  'refused writes': { refusals: 30 },
  'stalling stores': { stalls: 3 },
  'slow stores': { slowest: 400 },
  'failing receivers': { failing: 300 },
  'hanging receivers': { hanging: 100 },
  'lying receivers': { lying: 100 },
  'lost hints': { hints: 400 },
  'codes that are taken': { codes: 100 },
  'endpoints that go': { leaving: 300, failing: 500, away: { relay: 3 } },
  'clocks that step': { steps: 4 },
  'clocks apart': { skew: 30_000, steps: 2, farthest: 3_600_000, drift: 10 },
  'days off': { days: 1 },
  'suspended machines': { suspensions: 3 },
  'the event store away': { away: { events: 2 } },
  'the read models away': { away: { readModels: 2 } },
  'the deliveries away': { away: { deliveries: 2 } },
  'the keys away': { away: { keys: 2, personalKeys: 1 } },
  'the projector away': { away: { projector: 2 } },
  'the relay away': { away: { relay: 2 } },
  'a new release': { release: true },
  'a backlog': { backlog: true },
  'a shared log': { others: 3 },
  'a slow return': { away: { projector: 3 }, slowest: 400 },
} as const satisfies Readonly<Record<string, Partial<Weather>>>;

export type WeatherName = keyof typeof weathers;
export const weatherNames = Object.keys(weathers) as readonly WeatherName[];

/** Several troubles at once; of a trouble that several have, the last one counts. */
export const together = (names: readonly WeatherName[]): Weather =>
  names.reduce<Weather>((all, name) => {
    const next: Partial<Weather> = weathers[name];
    return { ...all, ...next, away: { ...all.away, ...next.away } };
  }, fair);
