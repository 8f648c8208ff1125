import { expect } from 'chai';
import { isFarMissed, type Figure } from './report.js';

describe('a figure of the benchmark', () => {
  const figure = (target: string | null, value: number, ratio: number | null = null): Figure => ({
    what: 'sends',
    value,
    unit: 'ms',
    ratio,
    comparedWith: null,
    target,
    met: target === null ? null : false,
  });

  it('fails a check where it misses its target by more than half', () => {
    expect(isFarMissed(figure('≥ 5000 events/s', 2_499))).to.equal(true);
    expect(isFarMissed(figure('≥ 5000 events/s', 2_501))).to.equal(false);
    expect(isFarMissed(figure('≤ 25 ms', 38))).to.equal(true);
    expect(isFarMissed(figure('≤ 25 ms', 37))).to.equal(false);
    expect(isFarMissed(figure('≥ 0.8', 9_000, 0.39))).to.equal(true);
    expect(isFarMissed(figure('≥ 0.8', 9_000, 0.41))).to.equal(false);
    expect(isFarMissed(figure('0', 1))).to.equal(true);
  });

  it('passes a check where it meets its target or has none', () => {
    expect(isFarMissed(figure(null, 1))).to.equal(false);
    expect(isFarMissed({ ...figure('≥ 5000 events/s', 1), met: true })).to.equal(false);
  });
});
