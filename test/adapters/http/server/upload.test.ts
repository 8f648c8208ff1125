import { expect } from 'chai';
import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { ClientGone } from '../../../../adapters/http/server/errors.js';
import { route } from '../../../../adapters/http/server/route.js';
import { readUpload } from '../../../../adapters/http/server/upload.js';
import { nextTurn } from '../../../../application/timing/next-turn.js';
import { DomainError } from '../../../../domain/errors.js';
import { answersIn, call, openRaw, startHttp, type TestService } from '../../../support/http/http.js';
import { eventually } from '../../../support/time/eventually.js';

const boundary = 'the-boundary';
const partHead = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n`;
const short = partHead + 'x'.repeat(1_000);
const size = 300_000;
const head = (more: string): string =>
  `POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=${boundary}\r\n${more}\r\n\r\n`;

describe('an upload', () => {
  let service: TestService;

  const taking = (path: string, handle: Parameters<typeof route>[1]['handle']) =>
    route(`POST ${path}`, {
      id: path.slice(1),
      summary: 'Takes a file',
      access: { kind: 'public' },
      tags: ['console'],
      responses: {},
      handle,
    });
  const handleUpload = taking('/upload', async (request) => {
    await request.readUpload();
    throw new DomainError('invalid_body', 'Refused unread.');
  });

  /** Lets a reader that waits before its first piece go on. */
  let goOn: () => void = () => undefined;
  const handleSlowly = taking('/slowly', async (request) => {
    const { file } = await request.readUpload();
    await new Promise<void>((resolve) => (goOn = resolve));
    let bytes = 0;
    for await (const piece of file) bytes += piece.length;
    return { status: 200, type: 'text/plain', text: String(bytes) };
  });

  const handleAtOnce = taking('/at-once', async (request) => {
    const { file } = await request.readUpload();
    let bytes = 0;
    for await (const piece of file) bytes += piece.length;
    return { status: 200, type: 'text/plain', text: String(bytes) };
  });

  before(async () => {
    const timeouts = { headers: 150, request: 300, upload: 1_500, check: 20 };
    service = await startHttp([handleUpload, handleSlowly, handleAtOnce], { timeouts });
  });
  after(() => service.close());

  const send = (more: string, body: string) => {
    const connection = openRaw(service.port);
    connection.socket.write(head(more) + body);
    return connection;
  };
  const firstStatus = (seen: string): number | undefined => answersIn(seen)[0]?.status;
  const isServing = async (): Promise<void> => {
    expect((await call(service, { path: '/healthz' })).status).to.equal(200);
  };

  const chunked = 'Transfer-Encoding: chunked';
  const length = (bytes: number): string => `Content-Length: ${bytes}`;
  const faults = {
    'has no closing boundary': [length(short.length), short, ''],
    'stalls until its time is over': [length(size), short, ''],
    'has a bad chunk header': [chunked, `${short.length.toString(16)}\r\n${short}\r\n`, 'nonsense\r\n'],
  } as const;

  for (const [fault, [header, first, then]] of Object.entries(faults)) {
    it(`that is refused unread and ${fault} is answered, and harms nothing`, async () => {
      const connection = send(header, first);
      await eventually(() => firstStatus(connection.seen()) === 400);
      connection.socket.write(then);
      if (!fault.startsWith('stalls')) connection.socket.end();
      await eventually(() => connection.ended());
      await isServing();
    });
  }

  it('that is refused unread, and whose client resets the connection, harms nothing', async () => {
    const connection = send(length(size), short);
    await eventually(() => firstStatus(connection.seen()) === 400);
    connection.socket.resetAndDestroy();
    await isServing();
  });

  const sendSlowly = (): ReturnType<typeof openRaw> => {
    const whole = `${partHead}${'x'.repeat(size)}\r\n--${boundary}--\r\n`;
    const connection = openRaw(service.port);
    connection.socket.write(head(length(whole.length)).replace('/upload', '/slowly') + whole);
    return connection;
  };

  /** Waits for as many times in a row as the time of a client that sends nothing. */
  const untilTimeIsOver = async (times: number): Promise<void> => {
    for (let over = 0; over < times; over += 1) {
      const stalling = send(length(size), short);
      await eventually(() => stalling.ended());
    }
  };

  it('is not cut off because it is read slowly: only the time of its client counts', async () => {
    const connection = sendSlowly();
    await untilTimeIsOver(1);
    goOn();
    await eventually(() => connection.seen().endsWith(`\r\n\r\n${size}`));
    connection.socket.destroy();
  });

  it('may take longer than other requests while its pieces come, and is cut off when none comes', async () => {
    const piece = 'x'.repeat(1_000);
    const end = `\r\n--${boundary}--\r\n`;
    const begin = () => {
      const connection = openRaw(service.port);
      connection.socket.write(
        head(length(partHead.length + 3 * piece.length + end.length)).replace('/upload', '/at-once'),
      );
      connection.socket.write(partHead + piece);
      return connection;
    };
    const [slow, stalled] = [begin(), begin()];
    for (const next of [piece, piece + end]) {
      await untilTimeIsOver(1);
      slow.socket.write(next);
    }
    await eventually(() => slow.seen().endsWith(`\r\n\r\n${3 * piece.length}`));
    await eventually(() => stalled.ended());
    expect(firstStatus(stalled.seen())).to.equal(408);
    slow.socket.destroy();
  });

  it('is cut off if it is read too slowly for much longer', async () => {
    const connection = sendSlowly();
    await untilTimeIsOver(6);
    goOn();
    await eventually(() => connection.ended());
    expect(firstStatus(connection.seen())).to.equal(408);
    await isServing();
  });

  it('may be left unread where it is large, and its connection goes on', async () => {
    const whole = `${partHead}${'x'.repeat(size)}\r\n--${boundary}--\r\n`;
    const connection = send(length(whole.length), whole);
    connection.socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await eventually(() => answersIn(connection.seen()).length === 2);
    expect(answersIn(connection.seen()).map(({ status }) => status)).to.deep.equal([400, 200]);
    connection.socket.destroy();
  });
});

describe('the file of an upload that breaks off before anybody reads it', () => {
  /** A request that has sent the head of its file, and a bit of that. */
  const begin = async () => {
    const request = new IncomingMessage(new Socket());
    request.headers['content-type'] = `multipart/form-data; boundary=${boundary}`;
    let stop: (error: Error) => void = () => undefined;
    request.push(short);
    const { file } = await readUpload(request, (given) => (stop = given));
    return { request, file, stop };
  };
  const failureOf = async (file: AsyncIterable<Buffer>): Promise<unknown> => {
    try {
      for await (const piece of file) expect(piece.length).to.be.greaterThan(0);
    } catch (error) {
      return error;
    }
    return null;
  };

  it('is refused when it is read if the form has no end', async () => {
    const { request, file } = await begin();
    request.push(null);
    await once(request, 'end');
    await nextTurn();
    const failure = await failureOf(file);
    expect(failure).to.be.instanceOf(DomainError).with.property('code', 'invalid_body');
  });

  it('gives what the rest was ended with', async () => {
    const { file, stop } = await begin();
    const broken = new Error('the rest took too long');
    stop(broken);
    await nextTurn();
    expect(await failureOf(file)).to.equal(broken);
  });

  it('tells that its client is gone', async () => {
    const { request, file } = await begin();
    request.destroy();
    await once(request, 'close');
    await nextTurn();
    expect(await failureOf(file)).to.be.instanceOf(ClientGone);
  });
});
