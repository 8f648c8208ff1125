import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js';
import { expect } from 'chai';
import { BatchAppends, type BatchCall } from '../../../adapters/eventstoredb/batch-appends.js';
import { AppendFailed } from '../../../adapters/eventstoredb/failures.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { derivedUuid } from '../../../domain/ids.js';
import { VirtualClock } from '../../support/memory/clock.js';

/** A call that answers when it is told to. */
class FakeCall implements BatchCall {
  readonly sent: BatchAppendReq[] = [];
  isCancelled = false;
  readonly #listeners: { data: (response: BatchAppendResp) => void; error: (error: Error) => void } = {
    data: () => undefined,
    error: () => undefined,
  };

  write(request: BatchAppendReq): void {
    this.sent.push(request);
  }

  on(event: 'data' | 'error' | 'end', listener: (argument: never) => void): void {
    if (event !== 'end') Object.assign(this.#listeners, { [event]: listener });
  }

  cancel(): void {
    this.isCancelled = true;
  }

  /** Answers an append by its place. */
  answer(index: number, position: bigint): void {
    const success = new streams.BatchAppendResp.Success()
      .setCurrentRevision('0')
      .setPosition(new shared.AllStreamPosition().setCommitPosition(String(position)));
    this.#listeners.data(
      new streams.BatchAppendResp()
        .setCorrelationId(this.sent[index]?.getCorrelationId())
        .setSuccess(success),
    );
  }

  /** Answers an append by its id as two numbers, as the server writes ids. */
  answerStructured(index: number, position: bigint): void {
    const hex = (this.sent[index]?.getCorrelationId()?.getString() ?? '').replaceAll('-', '');
    const bits = (from: number): string =>
      String(BigInt.asIntN(64, BigInt(`0x${hex.slice(from, from + 16)}`)));
    const id = new shared.UUID().setStructured(
      new shared.UUID.Structured().setMostSignificantBits(bits(0)).setLeastSignificantBits(bits(16)),
    );
    const success = new streams.BatchAppendResp.Success()
      .setCurrentRevision('0')
      .setPosition(new shared.AllStreamPosition().setCommitPosition(String(position)));
    this.#listeners.data(new streams.BatchAppendResp().setCorrelationId(id).setSuccess(success));
  }

  fail(message: string, code: number): void {
    this.#listeners.error(Object.assign(new Error(message), { code, details: message }));
  }
}

const json = Buffer.from('{}');
const write = (name: string) => ({
  name,
  expected: -1,
  events: [{ id: derivedUuid(name), type: 'Happened', data: json, metadata: json }],
});

/** What became of an append: its position, or what its failure leaves open. */
const fate = async (append: Promise<unknown>): Promise<unknown> =>
  append.then(
    (answer) =>
      typeof answer === 'object' && answer !== null && 'position' in answer ? answer.position : answer,
    (error: unknown) => (error instanceof AppendFailed ? error.effect : error),
  );

const rig = () => {
  const clock = new VirtualClock();
  const calls: FakeCall[] = [];
  const doors: (() => void)[] = [];
  const batches = new BatchAppends({
    clock,
    entropy: new SystemEntropy(),
    time: 3_000,
    open: () =>
      new Promise((resolve) => {
        doors.push(() => {
          const call = new FakeCall();
          calls.push(call);
          resolve(call);
        });
      }),
  });
  /** Lets the call be opened that was asked for last. */
  const opened = async (): Promise<FakeCall> => {
    doors.at(-1)?.();
    await clock.advance(0);
    const call = calls.at(-1);
    if (call === undefined) throw new Error('no call was asked for');
    return call;
  };
  return { clock, batches, calls, opened };
};

describe('a batch of appends to EventStoreDB', () => {
  it('gives each append the response with its own id, in whatever order they come, and drops others', async () => {
    const { batches, opened } = rig();
    const [a, b] = [fate(batches.append(write('aa'))), fate(batches.append(write('bb')))];
    const call = await opened();
    call.answer(1, 20n);
    call.answer(1, 99n);
    call.answer(5, 99n);
    call.answer(0, 10n);
    expect([await a, await b]).to.deep.equal([10n, 20n]);
  });

  it('knows an append by its id in either form', async () => {
    const { batches, opened } = rig();
    const appends = Array.from({ length: 8 }, () => fate(batches.append(write('aa'))));
    const call = await opened();
    for (const index of appends.keys()) call.answerStructured(index, BigInt(index));
    expect(await Promise.all(appends)).to.deep.equal([0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n]);
  });

  it('leaves an append open that is not answered in time, and goes on if others are answered', async () => {
    const { clock, batches, calls, opened } = rig();
    const silent = fate(batches.append(write('aa')));
    const call = await opened();
    await clock.advance(2_000);
    const answered = fate(batches.append(write('bb')));
    call.answer(1, 20n);
    await clock.advance(1_000);
    expect([await silent, await answered]).to.deep.equal(['open', 20n]);
    call.answer(0, 10n);
    const next = fate(batches.append(write('cc')));
    call.answer(2, 30n);
    expect([await next, call.isCancelled, calls.length]).to.deep.equal([30n, false, 1]);
  });

  it('gives up a call that brought nothing in the time of an append, with all that it carries', async () => {
    const { clock, batches, calls, opened } = rig();
    const first = fate(batches.append(write('aa')));
    const dead = await opened();
    await clock.advance(2_999);
    const second = fate(batches.append(write('bb')));
    expect(batches.isSilentFor(1_000)).to.equal(true);
    await clock.advance(1);
    expect([await first, await second, dead.isCancelled]).to.deep.equal(['open', 'open', true]);
    const again = fate(batches.append(write('cc')));
    const call = await opened();
    dead.fail('cancelled', 1);
    call.answer(0, 30n);
    expect([await again, calls.length, batches.isSilentFor(1_000)]).to.deep.equal([30n, 2, false]);
  });

  it('never sends an append whose time was over before a server was found', async () => {
    const { clock, batches, opened } = rig();
    const waiting = fate(batches.append(write('aa')));
    await clock.advance(3_000);
    expect(await waiting).to.equal('none');
    expect((await opened()).sent).to.deep.equal([]);
  });

  for (const [title, message, code, expected] of [
    ['open if the connection breaks', 'read ECONNRESET', 14, 'open'],
    ['without effect if there was no connection', 'No connection established. Last error: …', 14, 'none'],
    ['without effect if the server has no such call', 'unknown method', 12, 'none'],
    ['refused if the server does not know the user', 'Failed to authenticate', 16, 'refused'],
    ['refused if the user may not append', 'Access Denied', 7, 'refused'],
  ] as const)
    it(`leaves what it carries ${title}`, async () => {
      const { batches, opened } = rig();
      const appends = ['aa', 'bb'].map((name) => fate(batches.append(write(name))));
      (await opened()).fail(message, code);
      expect(await Promise.all(appends)).to.deep.equal([expected, expected]);
      expect(batches.isSupported).to.equal(code !== 12);
    });

  it('leaves what it carries open if the user is no longer known, once it has brought a response', async () => {
    const { batches, opened } = rig();
    const appends = ['aa', 'bb'].map((name) => fate(batches.append(write(name))));
    const call = await opened();
    call.answer(0, 10n);
    call.fail('Failed to authenticate', 16);
    expect(await Promise.all(appends)).to.deep.equal([10n, 'open']);
  });

  it('rejects everything when it is closed, and cancels its call', async () => {
    const { batches, opened } = rig();
    const sent = fate(batches.append(write('aa')));
    const call = await opened();
    batches.close(new Error('closed'));
    expect([await sent, call.isCancelled]).to.deep.equal(['open', true]);
  });
});
