import { expect } from 'chai';
import { isThorough, rounds, sampleOf } from './effort.js';

const cases = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

describe('the effort of a run of the tests', () => {
  it('is thorough on continuous integration and where it is asked for, and usual elsewhere', () => {
    expect(isThorough({})).to.equal(false);
    expect(isThorough({ CI: 'true' })).to.equal(true);
    expect(isThorough({ TEST_EFFORT: 'thorough' })).to.equal(true);
    expect(isThorough({ CI: 'true', TEST_EFFORT: 'usual' })).to.equal(false);
  });

  it('decides how often something is repeated', () => {
    expect(rounds({ usually: 2, thoroughly: 10 }, {})).to.equal(2);
    expect(rounds({ usually: 2, thoroughly: 10 }, { CI: 'true' })).to.equal(10);
  });

  it('is all cases or many if it is thorough, else some of them in their order, the same for the same number', () => {
    expect(sampleOf(cases, 3, { environment: { CI: 'true' } })).to.deep.equal(cases);
    const sample = sampleOf(cases, 3, { environment: { TEST_SAMPLE: '7' } });
    expect(sample).to.have.length(3);
    expect(sample).to.deep.equal(cases.filter((each) => sample.includes(each)));
    expect(sampleOf(cases, 3, { environment: { TEST_SAMPLE: '7' } })).to.deep.equal(sample);
    expect(sampleOf(cases, 30, { environment: {} })).to.deep.equal(cases);
    expect(sampleOf(cases, 3, { thoroughly: 5, environment: { CI: 'true' } })).to.have.length(5);
  });

  it('leaves no case out forever: over some runs, each is in a sample', () => {
    const seen = new Set(
      Array.from({ length: 40 }, (_, run) =>
        sampleOf(cases, 2, { environment: { TEST_SAMPLE: String(run) } }),
      ).flat(),
    );
    expect(seen.size).to.equal(cases.length);
  });
});
