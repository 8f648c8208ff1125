import { expect } from 'chai';
import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ServerSentEvent, StreamResponse } from '../../../../adapters/http/server/route.js';
import { VirtualClock } from '../../../support/memory/clock.js';
import { formatEvent, writeEvents } from '../../../../adapters/http/server/event-stream.js';
import { eventually } from '../../../support/time/eventually.js';
import {
  answersIn,
  call,
  openRaw,
  operatorToken,
  startHttp,
  type TestService,
} from '../../../support/http/http.js';
import { newTraces, testRoutes, type Traces } from '../../../support/http/http-routes.js';

describe('a stream of server-sent events', () => {
  let traces: Traces;
  let service: TestService;
  beforeEach(async () => {
    traces = newTraces();
    service = await startHttp(testRoutes(traces));
  });
  afterEach(() => service.close());

  const open = (path: string) => {
    const connection = openRaw(service.port);
    connection.socket.write(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${operatorToken}\r\n\r\n`,
    );
    return connection;
  };

  it('is written event by event', async () => {
    const reply = await call(service, { path: '/operator/v1/events?count=2', key: operatorToken });
    expect(reply.text).to.equal(
      'id: 1\nevent: number\ndata: {"at":1,"text":"two\\nlines"}\n\nid: 2\nevent: number\ndata: {"at":2,"text":"two\\nlines"}\n\n',
    );
    expect(reply.headers).to.include({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
    });
    expect(reply.headers['x-request-id']).to.match(/^req_/);
  });
  it('can’t be split by line breaks in its events', () =>
    expect(formatEvent({ id: '1\ndata: x', event: 'a\r\nb', data: 'c\n\nd' })).to.equal(
      'id: 1 data: x\nevent: a  b\ndata: "c\\n\\nd"\n\n',
    ));
  it('carries more than the client reads at once', async () => {
    const reply = await call(service, { path: '/operator/v1/events?count=20000', key: operatorToken });
    expect(reply.text.match(/^id: /gm)?.length).to.equal(20_000);
  });
  it('has no events in response to HEAD', async () => {
    const reply = await call(service, { method: 'HEAD', path: '/operator/v1/events', key: operatorToken });
    expect([reply.status, reply.text, reply.headers['content-type']]).to.deep.equal([
      200,
      '',
      'text/event-stream; charset=utf-8',
    ]);
  });
  it('arrives at once and ends when the client disconnects', async () => {
    const connection = open('/operator/v1/events');
    await eventually(() => connection.seen().includes('data: "first"'));
    expect(traces.aborted).to.deep.equal([]);
    connection.socket.destroy();
    await eventually(() => traces.aborted.includes('stream'));
  });
  it('ends when the service stops', async () => {
    const connection = open('/operator/v1/events');
    await eventually(() => connection.seen().includes('data: "first"'));
    await service.close();
    await eventually(() => connection.ended());
    expect([traces.aborted, connection.seen().endsWith('0\r\n\r\n')]).to.deep.equal([['stream'], true]);
  });
  it('goes on while somebody guesses operator tokens from its address', async () => {
    await service.close();
    const clock = new VirtualClock();
    service = await startHttp(testRoutes(traces), { clock });
    const connection = open('/operator/v1/events');
    await eventually(() => connection.seen().includes('data: "first"'));
    const statusWith = async (key: string) =>
      (await call(service, { path: '/operator/v1/events?count=1', key })).status;
    for (let at = 0; at < 10; at++) expect(await statusWith(`guess-${at}`)).to.equal(401);
    expect(await statusWith(operatorToken)).to.equal(429);
    await clock.advance(1_000);
    expect(await statusWith(operatorToken)).to.equal(429);
    expect([traces.aborted, connection.ended()]).to.deep.equal([[], false]);
  });
  it('is not the only request that is told when the service stops', async () => {
    const running = call(service, { path: '/api/v1/fails/wait' });
    await eventually(() => traces.calls.includes('wait'));
    const closed = service.close();
    await eventually(() => traces.aborted.includes('wait'));
    traces.release();
    expect((await running).status).to.equal(200);
    await closed;
  });
  it('breaks off if its source fails, and logs that', async () => {
    await call(service, { path: '/operator/v1/events?count=1&fail=yes', key: operatorToken }).catch(
      () => null,
    );
    await eventually(() => service.log.some((line) => line.msg === 'an event stream broke off'));
  });
});

describe('a service that is being stopped', () => {
  it('responds to running requests, accepts no new ones and leaves no connection open', async () => {
    const traces = newTraces();
    const service = await startHttp(testRoutes(traces));
    const idle = openRaw(service.port);
    idle.socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await eventually(() => idle.seen().includes('"ok"'));
    const running = call(service, { path: '/api/v1/fails/running' });
    await eventually(() => traces.calls.includes('running'));
    const closed = service.close();
    await eventually(() => idle.ended());
    const refused = await call(service, { path: '/healthz' }).catch((error: unknown) => error);
    expect(refused).to.have.property('code', 'ECONNREFUSED');
    traces.release();
    const reply = await running;
    expect([reply.status, reply.headers['connection']]).to.deep.equal([200, 'close']);
    await closed;
  });
  it('closes connections without a complete request at once, even while another request runs', async () => {
    const traces = newTraces();
    const service = await startHttp(testRoutes(traces), {
      timeouts: { shutdown: 60_000, keepAlive: 60_000 },
    });
    const head = 'GET /healthz HTTP/1.1\r\nHost: x\r\n';
    const [silent, begun, again] = [openRaw(service.port), openRaw(service.port), openRaw(service.port)];
    begun.socket.write(head);
    again.socket.write(`${head}\r\n${head}`);
    await eventually(() => again.seen().includes('"ok"'));
    const running = call(service, { path: '/api/v1/fails/running' });
    await eventually(() => traces.calls.includes('running'));
    const closed = service.close();
    await eventually(() => [silent, begun, again].every((connection) => connection.ended()));
    expect([silent.seen(), begun.seen(), answersIn(again.seen()).map(({ status }) => status)]).to.deep.equal([
      '',
      '',
      [200],
    ]);
    traces.release();
    expect((await running).status).to.equal(200);
    await closed;
  });
  it('responds to a request that was sent before', async () => {
    const service = await startHttp([], { timeouts: { idle: 5_000 } });
    const { socket, seen, ended } = openRaw(service.port);
    await once(socket, 'connect');
    await call(service, { path: '/healthz' }); // The connection above was accepted before this one.
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await service.close();
    await eventually(() => ended());
    expect(answersIn(seen()).map(({ status, headers }) => [status, headers['connection']])).to.deep.equal([
      [200, 'close'],
    ]);
  });
  it('cuts off requests that do not end in time', async () => {
    const traces = newTraces();
    const service = await startHttp(testRoutes(traces), { timeouts: { shutdown: 50 } });
    const running = call(service, { path: '/api/v1/fails/forever' }).catch((error: unknown) => error);
    await eventually(() => traces.calls.includes('forever'));
    await service.close();
    expect(await running).to.have.property('code', 'ECONNRESET');
    traces.release();
  });
  it('can’t listen on a port that is in use', async () => {
    const service = await startHttp([]);
    const second = await startHttp([]);
    try {
      expect(
        await second.listen(service.port, '127.0.0.1').catch((error: unknown) => error),
      ).to.have.property('code');
    } finally {
      await service.close();
      await second.close();
    }
  });
});

describe('the beats of a stream', () => {
  /** Writes a stream that waits forever to a response of memory, on a clock that is moved by hand. */
  const beatsOf = async (
    stream: Omit<StreamResponse, 'status' | 'events'>,
    beats: number,
  ): Promise<string> => {
    const written: string[] = [];
    const response = Object.assign(new EventEmitter(), {
      writableLength: 0,
      write: (text: string) => written.push(text) > 0,
    }) as unknown as ServerResponse;
    const clock = new VirtualClock();
    const closing = new AbortController();
    const never: AsyncIterable<ServerSentEvent> = {
      [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
    };
    const writing = writeEvents(response, { events: never, ...stream }, clock, closing.signal);
    for (let beat = 0; beat < beats; beat++) await clock.advance(15_000);
    closing.abort();
    expect(await writing).to.equal(false);
    return written.join('');
  };

  it('say every 15 s how far it has come, or that it is alive', async () => {
    const marks = [{ id: '7', event: 'position', data: { position: '7' } }, null];
    expect(await beatsOf({ beat: () => marks.shift() ?? null }, 2)).to.equal(
      'id: 7\nevent: position\ndata: {"position":"7"}\n\n: still here\n\n',
    );
    expect(await beatsOf({}, 1)).to.equal(': still here\n\n');
  });
  it('are not in JSON lines', async () => {
    expect(await beatsOf({ type: 'application/jsonl' }, 2)).to.equal('');
  });
});
