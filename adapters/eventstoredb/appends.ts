import type { StreamWrite, WriteOutcome } from '../../application/ports/event-store.js';
import type { AppendAnswer, ServerWrite } from './batch-appends.js';
import { appendClassically } from './classic-append.js';
import type { Session } from './connection.js';
import { explainDenial, maxRetryInterval, pausesOf, unavailable, type Context } from './context.js';
import { proposedEvents } from './events.js';
import { AppendFailed } from './failures.js';
import { tombstoned, type Reads } from './reads.js';

/** A larger append gets a call of its own, so that it holds up none that comes after it. */
const maxBytesInBatch = 65_536;
/** While the server has said nothing for this part of the time that an append may take, none is sent. */
const silentPart = 1 / 3;

/** Appends to streams, and finds out the outcome of an append whose response was lost. */
export class Appends {
  #asking: Promise<unknown> | null = null;

  constructor(
    private readonly context: Context,
    private readonly reads: Reads,
  ) {}

  /**
   * One write after the other, until one fails. If the outcome of a write is open, its event ids are looked
   * for.
   */
  async append(writes: readonly StreamWrite[]): Promise<readonly WriteOutcome[]> {
    if (new Set(writes.map(({ stream }) => stream)).size < writes.length)
      throw new TypeError('an append may name each stream only once');
    const outcomes: WriteOutcome[] = [];
    for (const [write, proposed] of writes.map((each) => [each, this.#proposed(each)] as const)) {
      if (outcomes.some(({ kind }) => kind !== 'appended')) outcomes.push({ kind: 'skipped' });
      else if (outcomes.length === 0) outcomes.push(await this.#settle(write, proposed));
      else outcomes.push(await this.#settleLater(write, proposed));
    }
    return outcomes;
  }

  #proposed(write: StreamWrite): ServerWrite {
    const { stream, expected } = write;
    return { name: this.context.names.nameOf(stream), expected, events: proposedEvents(write) };
  }

  /** A write after one that is stored: whatever happens now, the outcome of the first must not be lost. */
  async #settleLater(write: StreamWrite, proposed: ServerWrite): Promise<WriteOutcome> {
    try {
      return await this.#settle(write, proposed);
    } catch (error) {
      this.context.onError(error);
      return { kind: 'unknown' };
    }
  }

  /** Tries under the same ids until the outcome is known. Throws only if certainly nothing was stored. */
  async #settle(write: StreamWrite, proposed: ServerWrite): Promise<WriteOutcome> {
    const { clock, connection, times, backoff, onError } = this.context;
    const began = clock.monotonic();
    const pauseAfter = pausesOf(this.context);
    let mayBeStored = false;
    for (let failures = 0; ; failures += 1) {
      if (!mayBeStored) await this.#assertAnswers(write);
      const { session } = connection;
      try {
        const outcome = await this.#tryOnce(session, write, proposed);
        connection.succeeded();
        return outcome;
      } catch (error) {
        onError(error);
        connection.failed(session, error);
        const { effect, cause } =
          error instanceof AppendFailed ? error : { effect: 'open' as const, cause: error };
        if (!mayBeStored && effect === 'refused')
          throw explainDenial(cause, this.context, `write to ${proposed.name}`);
        mayBeStored ||= effect !== 'none';
        const pause = mayBeStored ? Math.min(backoff(failures), maxRetryInterval) : pauseAfter(cause);
        if (pause === null) throw unavailable(cause);
        if (mayBeStored && clock.monotonic() + pause >= began + times.settle) return { kind: 'unknown' };
        await clock.sleep(pause);
      }
    }
  }

  /**
   * After a failure, and before the very first call, nothing is appended until a read was answered: writes to
   * a server that hangs have an open outcome, and writes that were never sent can be refused. All waiting
   * writes share one read. Throws EventStoreUnavailable.
   */
  async #assertAnswers({ stream }: StreamWrite): Promise<void> {
    const { connection, times } = this.context;
    if (connection.answers && !connection.session.batches.isSilentFor(times.append * silentPart)) return;
    this.#asking ??= this.reads.ask(stream).finally(() => (this.#asking = null));
    await this.#asking;
  }

  async #tryOnce(session: Session, write: StreamWrite, proposed: ServerWrite): Promise<WriteOutcome> {
    const answer = await this.#send(session, proposed);
    if (answer.kind === 'tombstoned') throw new AppendFailed('refused', tombstoned(write.stream));
    if (answer.kind === 'conflict') return this.#whoseEvents(write);
    if (answer.revision > write.expected + write.events.length)
      this.context.onError(
        new Error(
          `The stream ${write.stream} was deleted in EventStoreDB: what was appended as its beginning stands at revision ${answer.revision}.`,
        ),
      );
    return {
      kind: 'appended',
      position: answer.position ?? (await this.reads.positionOf(write.events.at(-1)?.id)),
    };
  }

  async #send({ client, batches }: Session, proposed: ServerWrite): Promise<AppendAnswer> {
    const size = proposed.events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
    if (batches.isSupported && size <= maxBytesInBatch) {
      try {
        return await batches.append(proposed);
      } catch (error) {
        if (batches.isSupported) throw error;
      }
    }
    this.context.count('append');
    return appendClassically(this.context, client, proposed);
  }

  /** The stream has passed the expected revision: with our own events, or with another writer's. */
  async #whoseEvents(write: StreamWrite): Promise<WriteOutcome> {
    const stored = await this.reads.stream(write.stream, write.expected + 1, write.events.length);
    if (!write.events.every(({ id }, index) => stored[index]?.id === id)) {
      this.context.count('conflict');
      return { kind: 'conflict' };
    }
    const last = stored.at(-1);
    return { kind: 'appended', position: last?.position ?? (await this.reads.positionOf(last?.id)) };
  }
}
