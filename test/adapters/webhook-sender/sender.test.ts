import { expect } from 'chai';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import tls, { createServer as createTlsServer } from 'node:tls';
import {
  createServer as createNetServer,
  Socket,
  type AddressInfo,
  type Server as NetServer,
} from 'node:net';
import { inPlainWords } from '../../../adapters/webhook-sender/plain-words.js';
import { UndiciWebhookSender, type SenderOptions } from '../../../adapters/webhook-sender/sender.js';
import { nextTurn } from '../../../application/timing/next-turn.js';
import type { WebhookRequest } from '../../../application/ports/webhook-sender.js';
import { DomainError } from '../../../domain/errors.js';
import { OrganizationId } from '../../../domain/ids.js';
import { checkTarget, hostSet, type WebhookUrl } from '../../../domain/webhook-url.js';
import { certificateAuthority } from '../../support/http/certificates.js';
import { withVariable } from '../../support/runner/environment.js';
import { VirtualClock } from '../../support/memory/clock.js';
import { RealClock } from '../../support/time/real-clock.js';

const authority = certificateAuthority();
const org = OrganizationId.parse('an-org');
const good = authority.issue(['127.0.0.1', 'receiver.test']);

interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

describe('the webhook sender', () => {
  const closing: (() => Promise<unknown>)[] = [];
  /** The sockets of a test's receivers, below TLS. */
  const sockets: Socket[] = [];
  afterEach(async () => {
    sockets.length = 0;
    for (const close of closing.splice(0)) await close();
  });

  const listening = async (server: NetServer): Promise<number> => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    return (server.address() as AddressInfo).port;
  };

  const receiver = async (
    respond: (response: ServerResponse, received: Received) => void,
    certificate = good,
  ): Promise<{ port: number; received: Received[]; connections: () => number }> => {
    const received: Received[] = [];
    let connections = 0;
    const server: Server = createServer(certificate, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const one = { headers: request.headers, body: Buffer.concat(chunks).toString() };
        received.push(one);
        respond(response, one);
      });
    });
    server.on('connection', (socket) => {
      connections++;
      if (socket instanceof Socket) sockets.push(socket);
    });
    server.on('tlsClientError', () => {});
    closing.push(async () => server.closeAllConnections());
    return { port: await listening(server), received, connections: () => connections };
  };

  const drip = async (stream: Writable): Promise<void> => {
    const clock = new RealClock();
    while (!stream.destroyed) {
      stream.write('x');
      await clock.sleep(20);
    }
  };

  const senderWith = (options: Partial<SenderOptions> = {}) => {
    const sender = new UndiciWebhookSender({
      clock: new RealClock(),
      rules: () => ({ ownHosts: hostSet(['cards.test']), ports: null }),
      allowNetworks: ['127.0.0.0/8'],
      timeout: 10_000,
      extraCertificates: [authority.cert],
      ...options,
    });
    closing.unshift(() => sender.close());
    return sender;
  };

  const to = (url: string, more: Partial<WebhookRequest> = {}): WebhookRequest => ({
    org,
    url: url as WebhookUrl,
    headers: { 'content-type': 'application/json' },
    body: '{"grüße":1}',
    mayStart: () => true,
    ...more,
  });

  const resultOf = async (sender: UndiciWebhookSender, outgoing: WebhookRequest) => {
    const result = await sender.send(outgoing);
    if (result === 'withheld') return result;
    const { httpStatus, error, body } = result;
    return { httpStatus, error, body };
  };

  it('gives each address of a name the time of a second SYN before it tries the next', async () => {
    const connect = tls.connect;
    const waits: unknown[] = [];
    tls.connect = ((
      options: tls.ConnectionOptions & { readonly autoSelectFamilyAttemptTimeout?: number },
    ) => {
      waits.push(options.autoSelectFamilyAttemptTimeout);
      return connect(options);
    }) as typeof connect;
    try {
      const { port } = await receiver((response) => response.end());
      const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
      const sender = senderWith({ resolve: async () => addresses });
      expect(await resultOf(sender, to(`https://receiver.test:${port}/`))).to.include({ httpStatus: 200 });
    } finally {
      tls.connect = connect;
    }
    expect(waits).to.deep.equal([1_500]);
  });

  it('posts the given bytes and headers, and returns status and body', async () => {
    const { port, received } = await receiver((response) => response.writeHead(202).end('thanks'));
    const sender = senderWith();
    const result = await sender.send(
      to(`https://127.0.0.1:${port}/hook?a=b`, {
        headers: { 'service-event': 'card.created', 'accept-encoding': 'identity' },
      }),
    );
    expect(result).to.include({ httpStatus: 202, error: null, body: 'thanks' });
    expect(received).to.have.length(1);
    expect(received[0]?.body).to.equal('{"grüße":1}');
    expect(received[0]?.headers).to.include({
      'service-event': 'card.created',
      host: `127.0.0.1:${port}`,
      'content-length': '13',
      'accept-encoding': 'identity',
    });
  });

  it('reuses connections', async () => {
    const { port, connections } = await receiver((response) => response.end());
    const sender = senderWith();
    for (let count = 0; count < 5; count++) await sender.send(to(`https://127.0.0.1:${port}/`));
    expect(connections()).to.be.at.most(2);
  });

  for (const status of [300, 301, 302, 303, 307, 308]) {
    it(`follows no redirect with status ${status}`, async () => {
      const target = await receiver((response) => response.end());
      const { port } = await receiver((response) =>
        response.writeHead(status, { location: `https://127.0.0.1:${target.port}/` }).end(),
      );
      expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`))).to.deep.equal({
        httpStatus: status,
        error: 'redirects are not followed',
        body: '',
      });
      expect(target.connections()).to.equal(0);
    });
  }

  it('refuses a certificate of an unknown issuer', async () => {
    const { port, received } = await receiver(
      (response) => response.end(),
      certificateAuthority('Other CA').issue(['127.0.0.1']),
    );
    const result = await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`));
    expect(result)
      .to.include({ httpStatus: null })
      .and.to.have.property('error')
      .that.matches(/certificate/);
    expect(received).to.deep.equal([]);
  });

  it('checks certificates even if NODE_TLS_REJECT_UNAUTHORIZED is 0', async () => {
    const { port, received } = await receiver(
      (response) => response.end(),
      certificateAuthority('Other CA').issue(['127.0.0.1']),
    );
    await withVariable('NODE_TLS_REJECT_UNAUTHORIZED', '0', async () => {
      expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`))).to.have.property(
        'httpStatus',
        null,
      );
    });
    expect(received).to.deep.equal([]);
  });

  it('refuses a certificate for another name, even after a good response of the same server', async () => {
    const { port, received } = await receiver((response) => response.end());
    const sender = senderWith({ resolve: async () => [{ address: '127.0.0.1', family: 4 }] });
    expect(await resultOf(sender, to(`https://receiver.test:${port}/`))).to.include({ httpStatus: 200 });
    expect(await resultOf(sender, to(`https://other.test:${port}/`))).to.deep.equal({
      httpStatus: null,
      error: 'the certificate is for another name',
      body: null,
    });
    expect(received).to.have.length(1);
  });

  it('refuses an expired certificate', async () => {
    const { port } = await receiver(
      (response) => response.end(),
      authority.issue(['127.0.0.1'], { expired: true }),
    );
    expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`))).to.deep.equal({
      httpStatus: null,
      error: 'the certificate has expired',
      body: null,
    });
  });

  it('trusts only the known authorities if no certificate was added', async () => {
    const { port } = await receiver((response) => response.end());
    const { rules, clock } = {
      rules: () => ({ ownHosts: hostSet([]), ports: null }),
      clock: new RealClock(),
    };
    const sender = new UndiciWebhookSender({ clock, rules, allowNetworks: ['127.0.0.0/8'], timeout: 1_000 });
    closing.unshift(() => sender.close());
    expect(await resultOf(sender, to(`https://127.0.0.1:${port}/`)))
      .to.have.property('error')
      .that.matches(/certificate/);
  });

  describe('when time is up, the webhook sender', () => {
    const short = { timeout: 150 };
    const timedOut = { httpStatus: null, error: 'no complete response within 0.15 s', body: null };

    it('gives up on a receiver that does not respond', async () => {
      const { port } = await receiver(() => {});
      expect(await resultOf(senderWith(short), to(`https://127.0.0.1:${port}/`))).to.deep.equal(timedOut);
    });

    it('goes by the status of a response whose body drips', async () => {
      for (const status of [200, 500]) {
        const { port } = await receiver((response) => {
          response.writeHead(status);
          void drip(response);
        });
        const result = await resultOf(senderWith(short), to(`https://127.0.0.1:${port}/`));
        expect(result).to.deep.include({ httpStatus: status, error: timedOut.error });
      }
    });

    it('goes by the status of a response whose headers drip', async () => {
      const { port } = await receiver(({ socket }) => {
        if (socket === null) return;
        socket.write('HTTP/1.1 200 OK\r\nx-');
        void drip(socket);
      });
      expect(await resultOf(senderWith(short), to(`https://127.0.0.1:${port}/`))).to.deep.equal({
        ...timedOut,
        httpStatus: 200,
        body: '',
      });
    });

    it('gives up on a TLS handshake that never ends', async () => {
      const server = createNetServer((socket) => {
        socket.on('error', () => {});
        closing.unshift(async () => socket.destroy());
      });
      const port = await listening(server);
      expect(await resultOf(senderWith(short), to(`https://127.0.0.1:${port}/`))).to.deep.equal(timedOut);
    });

    it('gives up on a name server that does not respond', async () => {
      const sender = senderWith({ lookupTimeout: 150, resolve: () => new Promise(() => {}) });
      expect(await resultOf(sender, to('https://receiver.test/'))).to.deep.equal({
        httpStatus: null,
        error: 'the name server does not respond',
        body: null,
      });
    });
  });

  const raw = async (
    write: (send: (text: string | Buffer) => boolean, end: () => void) => void,
  ): Promise<number> => {
    const server = createTlsServer(good, (socket) => {
      socket.on('error', () => {});
      socket.once('data', () =>
        write(
          (text) => !socket.destroyed && socket.write(text),
          () => socket.destroy(),
        ),
      );
    });
    return listening(server);
  };

  it('gives up on endless response headers', async () => {
    const port = await raw((send) => {
      send('HTTP/1.1 200 OK\r\n');
      for (let line = 0; line < 2_000; line++) send(`x-${line}: ${'y'.repeat(100)}\r\n`);
    });
    expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`))).to.deep.equal({
      httpStatus: 200,
      error: 'the headers of the response are too large',
      body: '',
    });
  });

  describe('whatever follows a status line, the webhook sender goes by the status of', () => {
    const faults: readonly (readonly [string, string])[] = [
      ['two equal lengths', 'content-length: 2\r\ncontent-length: 2\r\n\r\nok'],
      ['two other lengths', 'content-length: 2\r\ncontent-length: 3\r\n\r\nok'],
      ['a length that is no number', 'content-length: two\r\n\r\nok'],
      ['a length beside chunks', 'content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
      ['an unknown transfer encoding', 'transfer-encoding: braille\r\n\r\nok'],
      ['chunks of no size', 'transfer-encoding: chunked\r\n\r\nzz\r\nok'],
      ['an end after the header', 'content-length: 1000\r\n\r\n'],
      ['an end within the header', 'content-length: 10'],
      ['an end after the status line', ''],
      ['an end within a chunk', 'transfer-encoding: chunked\r\n\r\nff\r\nok'],
      ['more than its length', 'content-length: 2\r\n\r\nok and more'],
      ['a space before a colon', 'x-name : 1\r\n\r\n'],
      ['a header without a colon', 'nonsense\r\n\r\n'],
      ['a control character in a header', 'x-name: a\u0001b\r\n\r\n'],
      ['line feeds alone', 'x-name: 1\ncontent-length: 2\n\nok'],
      ['a folded header', 'x-name: 1\r\n  2\r\ncontent-length: 0\r\n\r\n'],
      ['an upgrade', 'connection: upgrade\r\nupgrade: websocket\r\n\r\n'],
      ['headers that are too large', `x-name: ${'y'.repeat(40_000)}\r\n\r\n`],
    ]; // prettier-ignore
    for (const [what, rest] of faults)
      for (const line of ['200 OK', '204 No Content', '202', '299 Odd', '410 Gone', '500 Oops'])
        it(`${line} with ${what}`, async () => {
          const port = await raw((send, end) => {
            send(`HTTP/1.1 ${line}\r\n${rest}`);
            end();
          });
          const result = await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`));
          expect(result).to.have.property('httpStatus', Number(line.slice(0, 3)));
        });

    it('200 after interim responses, with two equal lengths', async () => {
      const port = await raw((send) =>
        send(
          'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok',
        ),
      );
      const result = await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`));
      expect(result).to.have.property('httpStatus', 200);
    });

    it('200 after a long interim response, with two equal lengths', async () => {
      const lengths = 'content-length: 2\r\n'.repeat(2);
      const port = await raw((send) =>
        send(`HTTP/1.1 103 Hints\r\nx: ${'y'.repeat(12_000)}\r\n\r\nHTTP/1.1 200 OK\r\n${lengths}\r\nok`),
      );
      const result = await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`));
      expect(result).to.have.property('httpStatus', 200);
    });

    it('200 after a 100 that nothing has asked for, however they are cut up', async () => {
      const sent = 'HTTP/1.1 100 Continue\r\nx: y\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
      for (let cut = 1; cut < sent.length; cut += 1) {
        const port = await raw((send) => {
          send(sent.slice(0, cut));
          setImmediate(() => send(sent.slice(cut)));
        });
        const result = await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`));
        expect(result, `cut at ${cut}`).to.deep.equal({ httpStatus: 200, error: null, body: 'ok' });
      }
    });
  });

  it('counts nothing for a connection that its receiver closes between two requests', async () => {
    const requests: string[] = [];
    /** Ends each connection at its second request, before a byte of a response, as idle ones end. */
    const server = createTlsServer(good, (socket) => {
      let seen = '';
      let answered = 0;
      socket.on('error', () => {});
      socket.on('data', (chunk: Buffer) => {
        seen += chunk.toString('latin1');
        if (answered === 1) socket.destroy();
        if (answered === 1 || !seen.endsWith('1}')) return;
        requests.push(seen);
        answered += 1;
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    });
    const port = await listening(server);
    const sender = senderWith();
    for (let count = 0; count < 200; count += 1)
      expect(await resultOf(sender, to(`https://127.0.0.1:${port}/`))).to.deep.equal({
        httpStatus: 200,
        error: null,
        body: '',
      });
    expect(requests).to.have.length(200);
  });

  /** A receiver that has answered one request, and ends its connection at each further one. */
  const answeredOnce = async () => {
    const counted = { connections: 0, requests: 0 };
    const server = createTlsServer(good, (socket) => {
      counted.connections += 1;
      socket.on('error', () => {});
      socket.on('data', (chunk: Buffer) => {
        if (!chunk.toString('latin1').endsWith('1}')) return;
        counted.requests += 1;
        if (counted.requests > 1) socket.destroy();
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
      });
    });
    const url = `https://127.0.0.1:${await listening(server)}/`;
    const sender = senderWith();
    await sender.send(to(url));
    // Then the connection is free again.
    for (let turns = 0; turns < 3; turns += 1) await nextTurn();
    return { counted, sender, url };
  };

  it('reports a connection that ends before a byte of a response, also when the request is made once more', async () => {
    const { counted, sender, url } = await answeredOnce();
    expect(await resultOf(sender, to(url))).to.have.property('httpStatus', null);
    expect(counted).to.deep.equal({ connections: 2, requests: 3 });
  });

  it('does not make a request once more that may not start any more', async () => {
    const { counted, sender, url } = await answeredOnce();
    const answers = [true];
    expect(await sender.send(to(url, { mayStart: () => answers.pop() ?? false }))).to.equal('withheld');
    expect(counted.requests).to.equal(2);
  });

  it('reads at most 16 KiB of an endless response, judges it by its status, and keeps 1 KiB', async () => {
    const server = createTlsServer(good, (socket) => {
      const chunk = Buffer.alloc(65_536, 'z');
      const more = () => {
        while (!socket.destroyed && socket.write(chunk));
      };
      socket.on('error', () => {}).on('drain', more);
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${2 ** 30}\r\n\r\n`);
        more();
      });
    });
    const port = await listening(server);
    const before = process.memoryUsage().rss;
    expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`))).to.deep.equal({
      httpStatus: 200,
      error: null,
      body: 'z'.repeat(1024),
    });
    expect(process.memoryUsage().rss - before).to.be.below(64 * 2 ** 20);
  });

  it('skips a few interim responses', async () => {
    const port = await raw((send) => {
      for (let count = 0; count < 5; count++) send('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n');
      send('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    });
    expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`))).to.deep.equal({
      httpStatus: 200,
      error: null,
      body: 'ok',
    });
  });

  it('goes by the response after an unasked 100, also where empty lines come before each', async () => {
    const port = await raw((send) =>
      send('\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'),
    );
    expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`))).to.deep.equal({
      httpStatus: 200,
      error: null,
      body: 'ok',
    });
  });

  it('judges interim responses that fill the beginning in no time', async () => {
    const port = await raw((send, end) => {
      send('HTTP/1.1 100 C\r\n\r\n'.repeat(400));
      end();
    });
    const before = process.cpuUsage();
    await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`));
    expect(process.cpuUsage(before).user).to.be.below(2_000_000);
  });

  for (const [what, interim] of Object.entries({
    'endless interim responses': 'HTTP/1.1 103 Early Hints\r\n\r\n',
    'interim responses of more than 64 KiB': `HTTP/1.1 102 Processing\r\nx: ${'y'.repeat(15_000)}\r\n\r\n`,
  }))
    it(`gives up on ${what}`, async () => {
      let sent = 0;
      const port = await raw((send) => {
        const more = () => {
          if (!send(interim)) return;
          sent++;
          setImmediate(more);
        };
        more();
      });
      expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`))).to.deep.equal({
        httpStatus: null,
        error: 'too many interim responses (1xx) came before the response',
        body: null,
      });
      expect(sent).to.be.above(4);
    });

  it('does not count the time of the name lookup as the time of the endpoint', async () => {
    const { port } = await receiver((response) => response.end());
    const sender = senderWith({
      timeout: 2_500,
      resolve: async () => {
        await new RealClock().sleep(3_000);
        return [{ address: '127.0.0.1', family: 4 }];
      },
    });
    const began = performance.now();
    const result = await sender.send(to(`https://receiver.test:${port}/`));
    const took = performance.now() - began;
    expect(result).to.include({ httpStatus: 200 });
    expect(result)
      .to.have.property('duration')
      .that.is.below(took - 2_500);
  });

  it('says that a name does not resolve', async () => {
    const sender = senderWith({ resolve: () => Promise.resolve([]) });
    expect(await sender.send(to('https://gone.test/'))).to.deep.equal({
      httpStatus: null,
      error: 'the host name does not resolve',
      body: null,
      duration: 0,
      unresolved: true,
    });
  });

  it('keeps a response that is not UTF-8 as text', async () => {
    const { port } = await receiver((response) => response.end(Buffer.from([0x61, 0xff, 0xfe, 0x62])));
    expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`))).to.deep.equal({
      httpStatus: 200,
      error: null,
      body: 'a\ufffd\ufffdb',
    });
  });

  it('leaves out a character that is cut in two at 1 KiB', async () => {
    const { port } = await receiver((response) => response.end(`${'a'.repeat(1023)}é`));
    expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`))).to.deep.equal({
      httpStatus: 200,
      error: null,
      body: 'a'.repeat(1023),
    });
  });

  it('reports a connection that is reset', async () => {
    const { port } = await receiver(() => sockets.forEach((socket) => socket.resetAndDestroy()));
    expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`))).to.deep.equal({
      httpStatus: null,
      error: 'connection reset',
      body: null,
    });
  });

  it('reports a connection that is closed before a response', async () => {
    const port = await raw((_send, end) => end());
    const result = await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`));
    expect(result)
      .to.include({ httpStatus: null })
      .and.to.have.property('error')
      .that.matches(/connection (reset|closed)/);
  });

  it('reports a refused connection', async () => {
    const { port } = await receiver(() => {});
    for (const close of closing.splice(0)) await close();
    expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`))).to.deep.equal({
      httpStatus: null,
      error: 'connection refused',
      body: null,
    });
  });

  it('reports a response that is not HTTP', async () => {
    const port = await raw((send, end) => {
      send('SSH-2.0-OpenSSH_9.2\r\n');
      end();
    });
    expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`)))
      .to.have.property('error')
      .that.equals('the response is not valid HTTP');
  });

  const tls12Alert = (alert: number): Buffer => Buffer.from([21, 3, 3, 0, 2, 2, alert]);
  for (const [what, answer, error] of [
    [
      'plain HTTP',
      'HTTP/1.1 400 Bad Request\r\n\r\n',
      'the receiver does not speak TLS, but perhaps plain HTTP',
    ],
    [
      'alert 40',
      tls12Alert(40),
      'the receiver refuses the TLS connection: it wants another cipher or a certificate',
    ],
    ['alert 48', tls12Alert(48), 'the TLS connection failed (ERR_SSL_TLSV1_ALERT_UNKNOWN_CA)'],
    ['alert 70', tls12Alert(70), 'the receiver does not speak TLS 1.2 or 1.3'],
    ['alert 80', tls12Alert(80), 'the receiver reports an internal error of its TLS'],
    ['alert 112', tls12Alert(112), 'the receiver has no certificate for this name'],
  ] as const)
    // prettier-ignore
    it(`says in plain words that the receiver answers a handshake with ${what}`, async () => {
      const server = createNetServer((socket) => {
        socket.on('error', () => {}).once('data', () => socket.end(answer));
      });
      const port = await listening(server);
      expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`))).to.deep.equal({
        httpStatus: null,
        error,
        body: null,
      });
    });

  it('says that a receiver speaks an old TLS only', async () => {
    const old = {
      ...good,
      minVersion: 'TLSv1.1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    } as const;
    const port = await listening(createTlsServer(old).on('tlsClientError', () => {}));
    expect(await resultOf(senderWith(), to(`https://127.0.0.1:${port}/`)))
      .to.have.property('error')
      .that.equals('the receiver does not speak TLS 1.2 or 1.3');
  });

  it('quotes no message of a library', () => {
    for (const code of ['ERR_SSL_BAD_RECORD_TYPE', 'ERR_OSSL_EVP_UNSUPPORTED', 'EPROTO', 'UND_ERR_INFO'])
      expect(inPlainWords(Object.assign(new Error('80:error:0A:SSL\n'), { code }))).to.match(
        /^the (?:TLS connection|exchange with the receiver) failed \(\w+\)$/,
      );
    const mismatch = Object.assign(new Error('raw'), { code: 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' });
    expect(inPlainWords(mismatch)).to.equal('the response is longer or shorter than its Content-Length');
  });

  it('sends nothing if the attempt may not start at the last moment', async () => {
    const { port, received } = await receiver((response) => response.end());
    const sender = senderWith();
    expect(await sender.send(to(`https://127.0.0.1:${port}/`, { mayStart: () => false }))).to.equal(
      'withheld',
    );
    expect(await resultOf(sender, to(`https://127.0.0.1:${port}/`))).to.include({ httpStatus: 200 });
    expect(received).to.have.length(1);
  });

  it('keeps a connection that opened too late for its attempt, for the next one', async () => {
    const { port, received, connections } = await receiver((response) => response.end());
    const sender = senderWith();
    const late = await Promise.all(
      Array.from({ length: 3 }, () =>
        sender.send(to(`https://127.0.0.1:${port}/`, { mayStart: () => false })),
      ),
    );
    expect(late).to.deep.equal(['withheld', 'withheld', 'withheld']);
    const opened = connections();
    const next = await Promise.all(
      Array.from({ length: 3 }, () => resultOf(sender, to(`https://127.0.0.1:${port}/`))),
    );
    expect(next.map((result) => typeof result === 'object' && result.httpStatus)).to.deep.equal([
      200, 200, 200,
    ]);
    expect([received.length, connections()]).to.deep.equal([3, opened]);
  });

  it('withholds attempts without a response when it is stopped', async () => {
    const stop = new AbortController();
    const { port } = await receiver(() => stop.abort());
    const sender = senderWith({
      resolve: (host) =>
        host === 'slow.test' ? new Promise(() => {}) : Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    });
    const [early, late] = await Promise.all([
      sender.send(to('https://slow.test/'), stop.signal),
      sender.send(to(`https://receiver.test:${port}/`), stop.signal),
    ]);
    expect(early).to.equal('withheld');
    expect(late).to.equal('withheld');
  });

  it('withholds an attempt whose name could not be looked up in time, and asks again for the next one', async () => {
    const clock = new VirtualClock();
    const { port, received } = await receiver((response) => response.end());
    const silent: ((addresses: readonly []) => void)[] = [];
    const sender = senderWith({
      clock,
      lookupTimeout: 3_600_000,
      resolve: (host) =>
        host === 'receiver.test'
          ? Promise.resolve([{ address: '127.0.0.1', family: 4 }])
          : new Promise((resolve) => silent.push(resolve)),
    });
    const holding = Array.from({ length: 8 }, (_, name) => sender.send(to(`https://silent-${name}.test/`)));
    const late = sender.send(to(`https://receiver.test:${port}/`));
    await clock.advance(600_000);
    expect([await late, received.length]).to.deep.equal(['withheld', 0]);
    for (const end of silent) end([]);
    await Promise.all(holding);
    expect(await resultOf(sender, to(`https://receiver.test:${port}/`))).to.include({ httpStatus: 200 });
  });

  describe('the addresses that the webhook sender connects to', () => {
    const strict = { allowNetworks: [] as string[] };

    it('do not include a private address that is written out in the URL', async () => {
      const { port, connections } = await receiver((response) => response.end());
      const result = await resultOf(senderWith(strict), to(`https://127.0.0.1:${port}/`));
      expect(result).to.deep.equal({
        httpStatus: null,
        error: 'webhooks may not go to 127.0.0.1: it is not on the public internet',
        body: null,
      });
      expect(connections()).to.equal(0);
    });

    it('do not include any of a name that also has a private address', async () => {
      const { port, connections } = await receiver((response) => response.end());
      const sender = senderWith({
        ...strict,
        resolve: async () => [
          { address: '93.184.215.14', family: 4 },
          { address: '127.0.0.1', family: 4 },
        ],
      });
      const result = await resultOf(sender, to(`https://receiver.test:${port}/`));
      expect(result).to.deep.equal({
        httpStatus: null,
        error: 'webhooks may not go to 127.0.0.1: it is not on the public internet',
        body: null,
      });
      expect(connections()).to.equal(0);
    });

    it('are checked again at the time of the connection', async () => {
      const { port, connections } = await receiver((response) => response.end());
      const addresses = ['93.184.215.14', '127.0.0.1'];
      const sender = senderWith({
        ...strict,
        resolve: async () => [{ address: addresses.shift() ?? '', family: 4 }],
      });
      await sender.vet(`https://rebind.test:${port}/` as WebhookUrl, org);
      const result = await resultOf(sender, to(`https://rebind.test:${port}/`));
      expect(result).to.deep.equal({
        httpStatus: null,
        error: 'webhooks may not go to 127.0.0.1: it is not on the public internet',
        body: null,
      });
      expect(connections()).to.equal(0);
    });

    it('are those that were checked: each name is resolved once', async () => {
      const { port, received } = await receiver((response) => response.end());
      const asked: string[] = [];
      const sender = senderWith({
        resolve: async (host) => {
          asked.push(host);
          return [{ address: '127.0.0.1', family: 4 }];
        },
      });
      expect(await resultOf(sender, to(`https://receiver.test:${port}/`))).to.include({ httpStatus: 200 });
      expect(asked).to.deep.equal(['receiver.test']);
      expect(received[0]?.headers.host).to.equal(`receiver.test:${port}`);
    });

    it('are found while another organization registers a URL on the same host', async () => {
      const { port } = await receiver((response) => response.writeHead(204).end());
      const url = `https://receiver.test:${port}/`;
      let answer = (): void => undefined;
      const answered = new Promise<void>((resolve) => (answer = resolve));
      const resolve = () => answered.then(() => [{ address: '127.0.0.1', family: 4 }]);
      const sender = senderWith({ resolve });
      const vetted = sender.vet(url as WebhookUrl, OrganizationId.parse('another-org'));
      const sent = sender.send(to(url), new AbortController().signal);
      answer();
      await vetted;
      expect(await sent).to.include({ httpStatus: 204, error: null });
    });

    it('are looked up once for all attempts that wait for the same name', async () => {
      const { port, received } = await receiver((response) => response.end());
      let asked = 0;
      const sender = senderWith({
        resolve: async () => {
          asked++;
          await new RealClock().sleep(50);
          return [{ address: '127.0.0.1', family: 4 }];
        },
      });
      await Promise.all(Array.from({ length: 8 }, () => sender.send(to(`https://receiver.test:${port}/`))));
      expect([asked, received.length]).to.deep.equal([1, 8]);
    });

    it('never include the service itself, even if its network is allowed', async () => {
      const { port, connections } = await receiver((response) => response.end());
      const sender = senderWith({ rules: () => ({ ownHosts: hostSet(['127.0.0.1']), ports: null }) });
      expect(await resultOf(sender, to(`https://127.0.0.1:${port}/`))).to.include({ httpStatus: null });
      expect(connections()).to.equal(0);
    });

    it('never include an address and port that the service listens on, behind a name either', async () => {
      const { port, connections } = await receiver((response) => response.end());
      const sender = senderWith({
        rules: () => ({
          ownHosts: hostSet([]),
          ports: null,
          ownAddresses: new Set([`127.0.0.1:${port}`]),
        }),
        resolve: async () => [{ address: '127.0.0.1', family: 4 }],
      });
      for (const host of ['127.0.0.1', 'receiver.test', '[::ffff:127.0.0.1]'])
        expect(await resultOf(sender, to(`https://${host}:${port}/`))).to.include({ httpStatus: null });
      expect(
        await sender
          .vet(`https://receiver.test:${port}/` as WebhookUrl, org)
          .catch((error: unknown) => error),
      ).to.be.instanceOf(DomainError);
      expect(await sender.vet(`https://receiver.test:${port + 1}/` as WebhookUrl, org)).to.equal(undefined);
      expect(connections()).to.be.at.most(1);
    });

    it('do not include ports that are not allowed', async () => {
      const { port, connections } = await receiver((response) => response.end());
      const sender = senderWith({ rules: () => ({ ownHosts: hostSet([]), ports: new Set([443]) }) });
      expect(await resultOf(sender, to(`https://127.0.0.1:${port}/`))).to.include({ httpStatus: null });
      expect(connections()).to.equal(0);
    });
  });

  describe('vetting a URL', () => {
    const vetted = async (sender: UndiciWebhookSender, url: string) => {
      try {
        await sender.vet(url as WebhookUrl, org);
        return 'passed';
      } catch (error) {
        return error instanceof DomainError ? `${error.code} ${error.param}` : error;
      }
    };

    it('refuses private addresses, written out or behind a name', async () => {
      const sender = senderWith({
        allowNetworks: [],
        resolve: async () => [{ address: '10.1.2.3', family: 4 }],
      });
      expect(await vetted(sender, 'https://127.0.0.1/')).to.equal('invalid_url url');
      expect(await vetted(sender, 'https://[::1]/')).to.equal('invalid_url url');
      expect(await vetted(sender, 'https://intranet.test/')).to.equal('invalid_url url');
    });

    const loopback = [
      '127.0.0.1', '127.0.0.1.', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.1', '0X7F.0.0.1', '017700000001', '0177.0.0.01', '127.255.255.254',
      '0', '0.0.0.0', '%31%32%37.0.0.1', '127%2e0%2e0%2e1', '１２７.0.0.1', '127。0。0。1', '①②⑦.⓪.⓪.①', '[::1]', '[0:0:0:0:0:0:0:1]', '[::]', '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]', '[0:0:0:0:0:FFFF:7F00:0001]', '[::ffff:0:7f00:1]', '[::127.0.0.1]', '[64:ff9b::127.0.0.1]', '[2002:7f00:1::]', 'localhost', 'LOCALHOST.', 'a.localhost',
      'ⓛocalhost',
    ]; // prettier-ignore
    for (const host of loopback) {
      it(`refuses ${host}, and the sender opens no connection to it`, async () => {
        const { port, connections } = await receiver((response) => response.end());
        const open = { ownHosts: hostSet([]), ports: null };
        const sender = senderWith({
          allowNetworks: [],
          rules: () => open,
          resolve: async () => [{ address: '127.0.0.1', family: 4 }],
        });
        const registered = async () => {
          const url = `https://${host}:${port}/` as WebhookUrl;
          checkTarget(new URL(url), open);
          await sender.vet(url, org);
          return url;
        };
        expect(
          await registered().catch((error: unknown) => (error instanceof DomainError ? error.code : error)),
        ).to.equal('invalid_url');
        expect(await resultOf(sender, to(`https://${host}:${port}/`))).to.include({ httpStatus: null });
        expect(connections()).to.equal(0);
      });
    }

    it('refuses private names alike, whether they resolve or not, without asking for them', async () => {
      const asked: string[] = [];
      const sender = senderWith({
        allowNetworks: [],
        resolve: async (host) => {
          asked.push(host);
          return host.startsWith('known') ? [{ address: '10.1.2.3', family: 4 }] : [];
        },
      });
      const answers = await Promise.all(
        ['known', 'unknown', 'known.corp', 'unknown.corp', 'known.internal', 'unknown.internal'].map((host) =>
          vetted(sender, `https://${host}/`),
        ),
      );
      expect(new Set(answers)).to.deep.equal(new Set(['invalid_url url']));
      expect(asked).to.deep.equal([]);
    });

    it('allows public addresses and names that do not resolve', async () => {
      const sender = senderWith({ allowNetworks: [], resolve: () => Promise.reject(new Error('ENOTFOUND')) });
      expect(await vetted(sender, 'https://93.184.215.14/')).to.equal('passed');
      expect(await vetted(sender, 'https://not-yet.test/')).to.equal('passed');
    });

    it('allows addresses of the allowed networks', async () => {
      expect(await vetted(senderWith(), 'https://127.0.0.2/')).to.equal('passed');
      expect(await vetted(senderWith(), 'https://10.0.0.1/')).to.equal('invalid_url url');
    });
  });
});
