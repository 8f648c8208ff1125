import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { isIntegration, rounds, sampleNumber } from '../support/runner/effort.js';
import { root } from '../support/runner/run-mocha.js';
import { performIn } from './workers.js';
import type { Performed } from './worker.js';

const freshFor = rounds({ usually: 6_000, thoroughly: 25_000 });
/** However quick the machine is: what one machine has not run, another one will not either. */
const maxFresh = 200;

/** Seeds that have found something once. */
const kept: readonly number[] = [117_916, 2_926_011_082, 3_759_892_666];

/** On continuous integration a failure is one of the change, not of the day. */
const drawn = isIntegration() ? '' : sampleNumber();

/** The first of the fresh seeds: another one for every change of what is built, elsewhere for every run. */
const firstFresh = (): number =>
  createHash('sha256')
    .update(readFileSync(join(root, 'dist/.built')))
    .update(drawn)
    .digest()
    .readUInt32BE(0);

const runs = async (next: () => number | null): Promise<readonly Performed[]> => {
  const performed: Performed[] = [];
  const asked = () => {
    const seed = next();
    return seed === null ? null : { seed, whole: true, weather: null };
  };
  await performIn({ workers: 1, next: asked }, (one) => void performed.push(one));
  return performed;
};

const failures = (performed: readonly Performed[]): readonly string[] =>
  performed.flatMap(({ seed, weather, wrong }) =>
    wrong
      .slice(0, 3)
      .map((line) => `${line} (${weather.join(', ')}; npm run simulate -- --seeds ${seed} --whole)`),
  );

describe('the whole service under simulation', () => {
  it('breaks no invariant under seeds that no version before has run', async () => {
    const until = performance.now() + freshFor;
    const first = firstFresh();
    let count = 0;
    const performed = await runs(() =>
      count === 0 || (count < maxFresh && performance.now() < until) ? first + count++ : null,
    );
    expect(failures(performed)).to.deep.equal([]);
  });

  it('breaks no invariant under the seeds that have found something once', async () => {
    const seeds = [...kept];
    expect(failures(await runs(() => seeds.shift() ?? null))).to.deep.equal([]);
  });

  it('goes the same way twice, whatever its process has run before', async () => {
    // In some of them the console is used.
    const seeds = [1, 5, 86];
    const perform = (order: readonly number[]) => {
      const left = [...order];
      return runs(() => left.shift() ?? null);
    };
    const [some, others] = await Promise.all([perform(seeds), perform(seeds.toReversed())]);
    expect(some).to.deep.equal(others.toReversed());
  });
});
