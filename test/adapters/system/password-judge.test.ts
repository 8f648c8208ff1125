import { expect } from 'chai';
import { performance } from 'node:perf_hooks';
import { judgingThread } from '../../../adapters/system/password-judge.js';
import { TooManySignIns } from '../../../application/ports/passwords.js';

/** A thread that finds every password good, and never comes back from one that says so. */
const hanging = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ password }) => {
      while (password === 'hang') {}
      parentPort.postMessage(password === 'echo ' + 'x'.repeat(59) ? 'that is what I got' : null);
    });
  `)}`,
);

const here = { from: '198.51.100.1' };

const failureOf = (judged: Promise<unknown>): Promise<unknown> =>
  judged.then(
    () => null,
    (error: unknown) => error,
  );

describe('the judge of passwords', () => {
  let judge: ReturnType<typeof judgingThread>;
  afterEach(() => judge.close());

  it('says why a password would be guessed soon, and nothing of a good one', async () => {
    judge = judgingThread();
    expect(await judge.judge('password1234', [], here)).to.match(/^This password would be guessed soon\. \w/);
    expect(await judge.judge('ada@example.com', ['ada@example.com'], here)).to.be.a('string');
    expect(await judge.judge('another pelican staircase', [], here)).to.equal(null);
  });

  it('leaves this thread free while it thinks about the worst that can be sent', async () => {
    judge = judgingThread();
    const busy: number[] = [];
    for (let tries = 0; tries < 3; tries += 1) {
      const before = performance.eventLoopUtilization();
      await judge.judge('p@$$w0rd'.repeat(32), [], here);
      busy.push(performance.eventLoopUtilization(before).utilization);
    }
    expect(Math.min(...busy)).to.be.below(0.5);
  });

  it('looks at the first 64 characters', async () => {
    judge = judgingThread(hanging);
    expect(await judge.judge(`echo ${'x'.repeat(251)}`, [], here)).to.equal('that is what I got');
  });

  it('gives up a password that takes too long, and judges the next one in a new thread', async () => {
    judge = judgingThread(hanging, 300);
    const [hung, next] = [failureOf(judge.judge('hang', [], here)), judge.judge('another', [], here)];
    expect(await hung).to.be.instanceOf(TooManySignIns);
    expect(await next).to.equal(null);
  });

  it('lets four of a network wait, and refuses its others at once', async () => {
    judge = judgingThread(hanging);
    const waiting = Array.from({ length: 4 }, (_, at) => judge.judge(`${at}`, [], here));
    expect(await failureOf(judge.judge('one more', [], here))).to.be.instanceOf(TooManySignIns);
    expect(await Promise.all(waiting)).to.deep.equal([null, null, null, null]);
    expect(await judge.judge('one more', [], here)).to.equal(null);
  });

  it('comes to another network next, however many of one wait', async () => {
    judge = judgingThread(hanging);
    const judged: string[] = [];
    const of = (network: string) =>
      judge.judge(network, [], { from: network }).then(() => judged.push(network));
    await Promise.all([of('one'), of('one'), of('one'), of('one'), of('another')]);
    expect(judged).to.deep.equal(['one', 'another', 'one', 'one', 'one']);
  });

  it('fails with what its thread fails with, and goes on', async () => {
    judge = judgingThread(new URL('data:text/javascript,throw new Error("no dictionary")'));
    for (const _ of ['once', 'again'])
      expect(await failureOf(judge.judge('a password', [], here))).to.have.property(
        'message',
        'no dictionary',
      );
  });
});
