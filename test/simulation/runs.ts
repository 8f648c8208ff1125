import { createHash } from 'node:crypto';
import type { LoggedEvent } from '../../domain/events.js';
import type { Call } from '../support/simulation/invariants.js';

export interface Size {
  readonly clients: number;
  /** Of each client. */
  readonly calls: number;
}

export interface Run {
  readonly seed: number;
  /** Null: the seed decides. */
  readonly weather: string | null;
  readonly size: Size;
}

export interface Outcome {
  readonly weather: readonly string[];
  readonly embedded: boolean;
  /** One line per violation. */
  readonly wrong: readonly string[];
  readonly log: readonly LoggedEvent[];
  readonly history: readonly Call[];
  /** Equal for two runs that went the same way. */
  readonly digest: string;
}

export class UnknownWeather extends Error {
  constructor(name: string, known: readonly string[]) {
    super(`There is no weather "${name}": use one of ${known.join(', ')}.`);
  }
}

export const digestOf = (log: readonly LoggedEvent[], history: readonly Call[], more: string): string => {
  const hash = createHash('sha256');
  for (const { metadata } of log) hash.update(metadata.hash);
  for (const { answer } of history) hash.update(`${answer?.status ?? 0} `);
  return hash.update(more).digest('hex').slice(0, 12);
};

/** Smaller runs, the smallest first. */
const smaller = ({ clients, calls }: Size): readonly Size[] => {
  const sizes: Size[] = [];
  for (let few = 1; few <= clients; few++)
    for (let made = 1; made < calls; made += Math.max(1, Math.floor(made / 4)))
      sizes.push({ clients: few, calls: made });
  return sizes.toSorted((one, other) => one.clients * one.calls - other.clients * other.calls);
};

const kindOf = (line: string): string => line.slice(0, line.indexOf(':'));

/** The smallest run of that seed which breaks one of the same invariants; the run itself if none does. */
export const shrink = async (
  run: Run,
  { wrong }: Pick<Outcome, 'wrong'>,
  perform: (run: Run) => Promise<Outcome>,
): Promise<{ readonly run: Run; readonly outcome: Outcome }> => {
  const broken = new Set(wrong.map(kindOf));
  for (const size of smaller(run.size)) {
    const outcome = await perform({ ...run, size });
    if (outcome.wrong.some((line) => broken.has(kindOf(line)))) return { run: { ...run, size }, outcome };
  }
  return { run, outcome: await perform(run) };
};
