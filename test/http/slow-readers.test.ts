import { expect } from 'chai';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Socket } from 'node:net';
import { SystemClock } from '../../adapters/system/clock.js';
import { openRaw } from '../support/http/http.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import { aCard, built, startTestService, type RunningService, type Tenant } from '../support/http/service.js';
import { eventually } from '../support/time/eventually.js';

const cards = Array.from({ length: 20 }, (_, number) => `Name-${number}`);
const accepted = 'net.server.socket';

describe('a reader that takes nothing for a while', function () {
  this.timeout(120_000);
  let service: RunningService;
  let receiver: Receiver;
  let tenant: Tenant;
  before(async () => {
    service = await startTestService(receiverSettings, new SystemClock(), [authority.cert]);
    receiver = await startReceiver();
    tenant = await service.tenant();
  });
  after(async () => {
    await receiver.close();
    await service.stop();
  });

  /** Asks for a stream. The service's socket takes one piece, and passes nothing on before `release`. */
  const slowly = async (path: string, token: string, accept = 'text/event-stream') => {
    const { hostname, port } = new URL(service.baseUrl);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let isHolding = false;
    let isGiven = false;
    const hold = (message: unknown): void => {
      const { socket } = message as { readonly socket: unknown };
      if (!(socket instanceof Socket) || socket.localPort !== Number(port) || isHolding) return;
      isHolding = true;
      const [write, writev] = [socket._write.bind(socket), socket._writev?.bind(socket)];
      const pass = (on: () => void): void => {
        isGiven = true;
        void released.then(on);
      };
      socket._write = (...given) => pass(() => write(...given));
      socket._writev = (...given) => pass(() => writev?.(...given));
    };
    subscribe(accepted, hold);
    const connection = openRaw(Number(port));
    connection.socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\nAccept: ${accept}\r\n\r\n`,
    );
    await eventually(() => isGiven);
    unsubscribe(accepted, hold);
    return { ...connection, release };
  };

  it('gets at most the one name that was on its way when an erasure was done, from no stream and no export', async () => {
    const { api, org, key } = tenant;
    const deliveries = await slowly('/api/v1/deliveries/stream', key);
    await built(api('/api/v1/webhooks', { body: { url: `${receiver.url}${org}` } }));
    const codes: string[] = [];
    for (const reference of cards)
      codes.push((await built(api('/api/v1/cards', { body: aCard({ reference }) }))).id);
    for (const code of codes) await built(api(`/api/v1/cards/${code}`, { method: 'DELETE' }));
    const attempted = async (isErased: boolean) => {
      const { rows } = await api('/api/v1/deliveries?limit=200');
      const bodies = rows.flatMap(({ attempts }) => attempts as { body: string | null }[]);
      return bodies.length === 2 * cards.length && bodies.every(({ body }) => (body === null) === isErased);
    };
    await eventually(() => attempted(false));

    const office = service.operatorToken;
    const readers = {
      deliveries,
      'the events of an organization': await slowly('/api/v1/events', key),
      'the log': await slowly(`/operator/v1/events?organization=${org}`, office),
      'the log as JSON lines': await slowly(
        `/operator/v1/events?organization=${org}&until=head`,
        office,
        'application/jsonl',
      ),
      'an export': await slowly(`/operator/v1/exports?organization=${org}&personal=include`, office),
      'an export of a period': await slowly('/operator/v1/exports?from=0&personal=include', office),
    };
    await built(
      service.operator(`/operator/v1/organizations/${org}/erasures`, {
        body: { cards: codes, reason: 'why' },
      }),
    );
    for (const code of codes)
      await eventually(async () => {
        const { text } = await service.operator(`/operator/v1/cards/${code}/history`);
        return !text.includes('Name-');
      });
    await eventually(() => attempted(true));
    // Streams show what is erased until its keys are destroyed, a moment later.
    await eventually(async () => {
      const { release, seen, socket } = await slowly('/api/v1/events', key);
      release();
      await eventually(() => seen().split('event: card.cancelled').length > cards.length);
      socket.destroy();
      return !seen().includes('Name-');
    });

    for (const { release } of Object.values(readers)) release();
    await built(api('/api/v1/cards', { body: aCard({ reference: 'the last one' }) }));
    const told = async ([what, { seen, ended }]: [string, Awaited<ReturnType<typeof slowly>>]) => {
      await eventually(() => seen().includes('the last one') || ended(), { what });
      // An export shows a sealed text and its key.
      const keys = seen().match(/"key":"[\w+/]{43}="/g)?.length ?? 0;
      return [what, new Set(seen().match(/Name-\d+/g)).size + keys > 1];
    };
    expect(Object.fromEntries(await Promise.all(Object.entries(readers).map(told)))).to.deep.equal(
      Object.fromEntries(Object.keys(readers).map((what) => [what, false])),
    );
    for (const { socket } of Object.values(readers)) socket.destroy();
  });
});
