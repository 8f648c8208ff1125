import { expect } from 'chai';
import { z } from 'zod';
import { optionalText } from '../../../../adapters/http/schema/fields.js';
import { route, type ServerSentEvent } from '../../../../adapters/http/server/route.js';
import type { HttpOptions } from '../../../../adapters/http/server/server.js';
import { SystemClock } from '../../../../adapters/system/clock.js';
import { answersIn, call, openRaw, startHttp, type TestService } from '../../../support/http/http.js';
import { eventually } from '../../../support/time/eventually.js';

const kibibyte = 1024;
const mebibyte = kibibyte * kibibyte;
/** More than the buffers of both ends of a connection hold. */
const large = 32 * mebibyte;

const clock = new SystemClock();

const operation = (id: string) => ({
  id,
  summary: id,
  tags: ['test'],
  responses: {},
  errors: [],
});

/** A large response, an endless stream, and a response that takes its time. */
const routes = (ended: string[]) => [
  route('GET /large', {
    access: { kind: 'public' },
    failure: 'internal_error',
    ...operation('large'),
    handle: () => Promise.resolve({ status: 200, type: 'text/plain', text: 'x'.repeat(large) }),
  }),
  route('GET /stream', {
    access: { kind: 'public' },
    failure: 'internal_error',
    ...operation('stream'),
    handle: ({ signal }) =>
      Promise.resolve({
        status: 200,
        events: (async function* (): AsyncGenerator<ServerSentEvent> {
          signal.addEventListener('abort', () => ended.push('stream'));
          while (!signal.aborted) yield { data: 'x'.repeat(mebibyte) };
        })(),
      }),
  }),
  route('GET /slow', {
    access: { kind: 'public' },
    query: z.object({ ms: optionalText('') }),
    failure: 'internal_error',
    ...operation('slow'),
    handle: async ({ query }) => {
      await clock.sleep(Number(query.ms));
      return { status: 200, body: {} };
    },
  }),
];

describe('connections', () => {
  const ended: string[] = [];
  let service: TestService;

  const start = async (changes: Partial<HttpOptions>) => {
    ended.length = 0;
    service = await startHttp(routes(ended), changes);
  };
  afterEach(() => service.close());

  const head = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const wasEnded = () =>
    service.log.some(({ msg }) => msg === 'connection ended: the client does not read the response');

  for (const path of ['/large', '/stream'])
    it(`are ended if the client does not read the response for as long as allowed: ${path}`, async () => {
      await start({ timeouts: { progress: 200 } });
      const { socket, ended: isOver, seen } = openRaw(service.port);
      socket.pause();
      socket.write(head(path));
      await eventually(wasEnded);
      socket.resume();
      await eventually(isOver);
      expect(seen().length).to.be.below(large);
      if (path === '/stream') await eventually(() => ended.includes('stream'));
    });

  it('stay open for a client that reads slowly, however long the whole response takes', async () => {
    await start({ timeouts: { progress: 200 } });
    const { socket } = openRaw(service.port);
    let read = 0;
    const began = clock.monotonic();
    socket.removeAllListeners('data').on('data', (chunk: Buffer) => {
      if (Math.floor(read / (4 * mebibyte)) < Math.floor((read + chunk.length) / (4 * mebibyte))) {
        socket.pause();
        void clock.sleep(60).then(() => socket.resume());
      }
      read += chunk.length;
    });
    socket.write(head('/large'));
    await eventually(() => read > large);
    expect(clock.monotonic() - began).to.be.above(400);
    expect(wasEnded()).to.equal(false);
  });

  it('stay open while a response is being made, for longer than nobody may read', async () => {
    await start({ timeouts: { progress: 100 } });
    expect((await call(service, { path: '/slow?ms=450' })).status).to.equal(200);
  });

  it('stay open between requests for as long as clients may keep them', async () => {
    await start({ timeouts: { progress: 500, keepAlive: 60_000 } });
    const { socket, seen } = openRaw(service.port);
    socket.write(head('/slow?ms=0'));
    await eventually(() => answersIn(seen()).length === 1);
    expect((await call(service, { path: '/slow?ms=800' })).status).to.equal(200);
    socket.write(head('/slow?ms=0'));
    await eventually(() => answersIn(seen()).length === 2);
    socket.destroy();
  });

  it('are refused beyond the number that is allowed, and accepted again when one has ended', async () => {
    await start({ maxConnections: 2 });
    const first = openRaw(service.port);
    const second = openRaw(service.port);
    for (const { socket, seen } of [first, second]) {
      socket.write(head('/slow?ms=0'));
      await eventually(() => answersIn(seen()).length === 1);
    }
    const third = openRaw(service.port);
    await eventually(third.ended);
    expect(third.seen()).to.equal('');
    expect(service.log.filter(({ msg }) => msg.startsWith('connections are refused'))).to.have.length(1);
    first.socket.destroy();
    await eventually(
      async () => (await call(service, { path: '/slow?ms=0' }).catch(() => null))?.status === 200,
    );
    second.socket.destroy();
  });

  it('are ended if more than 1,000 requests wait on them for the response to an earlier one', async () => {
    await start({});
    for (const requests of [1_001, 1_002]) {
      const { socket, seen, ended: isOver } = openRaw(service.port);
      socket.write(head('/slow?ms=0').repeat(requests));
      await eventually(() => isOver() || answersIn(seen()).length === 1_001);
      expect(isOver(), `${requests} requests`).to.equal(requests > 1_001);
      if (requests > 1_001) continue;
      // Those that were answered do not count.
      socket.write(head('/slow?ms=0').repeat(requests));
      await eventually(() => answersIn(seen()).length === 2 * requests);
      socket.destroy();
    }
    const told = service.log.filter(({ msg }) => msg === 'connection ended: too many requests wait on it');
    expect(told).to.have.length(1);
  });
});
