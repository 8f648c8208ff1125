import { expect } from 'chai';
import { eventually } from './eventually.js';

const failure = async (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'no failure',
    (error: unknown) => String(error),
  );

describe('eventually', () => {
  it("returns the condition's value once it holds", async () => {
    let calls = 0;
    const seen = await eventually(() => ((calls += 1) < 4 ? null : { calls }));
    expect(seen).to.deep.equal({ calls: 4 });
  });

  it('waits until an expectation is met, and accepts 0 and an empty text as values', async () => {
    let value = 0;
    const answer = await eventually(() => {
      value += 1;
      expect(value).to.equal(3);
      return 0;
    });
    expect([value, answer, await eventually(() => '')]).to.deep.equal([3, 0, '']);
  });

  it('waits longer if every look takes long, as on a machine that stalls', async () => {
    let looks = 0;
    await eventually(
      () => {
        const until = performance.now() + 40;
        while (performance.now() < until);
        looks += 1;
        return looks === 6;
      },
      { within: 150 },
    );
  });

  it('fails with what it waited for and what it last saw', async () => {
    expect(await failure(eventually(() => false, { within: 10, what: 'the row' }))).to.equal(
      'Error: the row did not hold within 10 ms: it gave false',
    );
    const refused = eventually(() => Promise.reject(new Error('connection refused')), { within: 10 });
    expect(await failure(refused)).to.equal(
      'Error: the condition did not hold within 10 ms: connection refused',
    );
  });
});
