import { expect } from 'chai';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { followLog } from '../../adapters/sqlite/log/log-reader.js';
import { nextTurn } from '../../application/timing/next-turn.js';
import type { EventStore } from '../../application/ports/event-store.js';
import type { LoggedEvent } from '../../domain/events.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../support/http/service.js';
import { standingClock } from '../support/time/standing-clock.js';
import { eventually } from '../support/time/eventually.js';
import type { Interference } from '../support/simulation/interference.js';

const endlessHead = 10n ** 15n;

/** A log whose head nobody reaches, until it has been read for long after it was `stopped`. */
class EndlessLog {
  batches = 0;
  stopped: number | null = null;

  /** The first events of a log, again and again. */
  #copies(events: readonly LoggedEvent[], after: bigint): readonly LoggedEvent[] {
    this.batches += 1;
    if (this.sinceStop > 1_000) throw new Error('the log was read on after the stop');
    return events.map((event, index) => ({ ...event, position: after + BigInt(index) + 1n }));
  }

  /** How many batches were read since. */
  get sinceStop(): number {
    return this.stopped === null ? 0 : this.batches - this.stopped;
  }

  readonly of = (store: EventStore): Pick<EventStore, 'readLog' | 'head' | 'follow'> => {
    const copies = this.#copies.bind(this);
    return {
      head: async () => ({ ...(await store.head()), position: endlessHead }),
      readLog: async (after, limit) => {
        await nextTurn();
        return copies(await store.readLog(0n, limit), after);
      },
      follow: async function* (after, options) {
        const events = await store.readLog(0n, options.batch ?? 100);
        const readLog = (from: bigint) => copies(events, from);
        yield* followLog(
          {
            readLog,
            headPosition: () => endlessHead,
            untilCommittedAfter: async () => undefined,
            clock: standingClock(0),
          },
          after,
          options,
        );
      },
    };
  };
}

describe('A service that is told to stop', () => {
  it('answers what was sent to it before, over old connections and new ones', async () => {
    const service = await startTestService();
    const { hostname, port } = new URL(service.baseUrl);
    const ask = (socket: Socket): void =>
      void socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const answerOf = (socket: Socket): Promise<string> =>
      new Promise((resolve) => {
        socket.once('data', (answer) => resolve(answer.toString('latin1').slice(0, 12)));
        socket.once('close', () => resolve('nothing')).once('error', () => resolve('nothing'));
      });
    const opened = async (): Promise<readonly Socket[]> => {
      const sockets = Array.from({ length: 20 }, () => connect(Number(port), hostname));
      await Promise.all(sockets.map((socket) => once(socket, 'connect')));
      return sockets;
    };
    const kept = await opened();
    kept.forEach(ask);
    await Promise.all(kept.map(answerOf));
    const fresh = await opened();
    const all = [...kept, ...fresh];
    all.forEach(ask);
    const answers = all.map(answerOf);
    await service.stop();
    expect(await Promise.all(answers)).to.deep.equal(all.map(() => 'HTTP/1.1 200'));
  });

  /** Asks for something that reads the log without an end, and stops the service. */
  const stopDuring = async (
    ask: (service: RunningService, tenant: Tenant) => Promise<() => Promise<unknown>>,
  ): Promise<number> => {
    const log = new EndlessLog();
    const interference: Interference = {};
    const service = await startTestService({}, undefined, [], interference);
    const tenant = await service.tenant();
    await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    const asking = await ask(service, tenant);
    interference.log = log.of;
    const asked = asking().catch(() => null);
    await eventually(() => log.batches > 5, { what: 'some batches of the log' });
    const stopping = service.stop();
    log.stopped = log.batches;
    await Promise.all([stopping, asked]);
    return log.sinceStop;
  };

  it('ends a feed of events whose filter matches nothing after the batch that it reads', async () => {
    const since = await stopDuring(async (service) => async () => {
      const response = await fetch(`${service.baseUrl}/operator/v1/events?from=0&types=CardErased`, {
        headers: { authorization: `Bearer ${service.operatorToken}` },
      });
      expect(response.status).to.equal(200);
      await response.text();
    });
    expect(since).to.be.at.most(2);
  });

  it('ends a replay that sends nothing after the batch that it reads', async () => {
    const since = await stopDuring(async (service, tenant) => {
      const body = { url: 'https://receiver.example/', events: ['card.mailed'] };
      const { status, id } = await tenant.api('/api/v1/webhooks', { body });
      expect(status).to.equal(201);
      const replay = `/operator/v1/organizations/${tenant.org}/webhooks/${id}/replay`;
      return () => service.operator(replay, { body: { from: '0' } });
    });
    expect(since).to.be.at.most(2);
  });
});
