import { createHash, randomInt } from 'node:crypto';

/** The variable that says how much a run repeats: `usual` or `thorough`. */
export const effortVariable = 'TEST_EFFORT';

/** The variable with the number that decides what a usual run leaves out. */
export const sampleVariable = 'TEST_SAMPLE';

type Environment = Readonly<Record<string, string | undefined>>;

export const isIntegration = (environment: Environment = process.env): boolean =>
  (environment['CI'] ?? '') !== '';

/** Whether this run repeats everything: on continuous integration, and if it is asked to. */
export const isThorough = (environment: Environment = process.env): boolean => {
  const effort = environment[effortVariable] ?? '';
  return effort === '' ? isIntegration(environment) : effort === 'thorough';
};

export interface Effort {
  readonly usually: number;
  readonly thoroughly: number;
  /** An environment variable with another number. */
  readonly named?: string;
}

/** How often to repeat what finds more the more often it runs. */
export const rounds = (
  { usually, thoroughly, named = '' }: Effort,
  environment: Environment = process.env,
): number => Number(environment[named] ?? (isThorough(environment) ? thoroughly : usually));

const drawnHere = String(randomInt(1_000_000));

/** The number that decides what a usual run leaves out: another one in each run, unless one is asked for. */
export const sampleNumber = (environment: Environment = process.env): string => {
  const asked = environment[sampleVariable] ?? '';
  return asked === '' ? drawnHere : asked;
};

interface Drawing {
  readonly of?: string;
  readonly environment?: Environment;
}

interface Sampling extends Drawing {
  /** How many cases a thorough run takes at most: all, if it is absent. */
  readonly thoroughly?: number;
}

/**
 * At most this many of the cases, in their order and others in each run. Samples of equally many cases are
 * alike unless `of` tells them apart.
 */
export const drawn = <T>(
  cases: readonly T[],
  many: number,
  { of = '', environment = process.env }: Drawing = {},
): readonly T[] => {
  const number = sampleNumber(environment);
  const rank = (at: number): string =>
    createHash('sha256').update(`${number} ${of} ${cases.length} ${at}`).digest('hex');
  const chosen = new Set(
    [...cases.keys()].toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1)).slice(0, many),
  );
  return cases.filter((_, at) => chosen.has(at));
};

/** All or many cases in a thorough run, otherwise some that are drawn. */
export const sampleOf = <T>(
  cases: readonly T[],
  usually: number,
  { thoroughly = cases.length, ...drawing }: Sampling = {},
): readonly T[] => drawn(cases, isThorough(drawing.environment) ? thoroughly : usually, drawing);
