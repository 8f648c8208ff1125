import { Socket } from 'node:net';
import { expect } from 'chai';
import { CloudEvent, HTTP } from 'cloudevents';
import { RabbitPublicStream } from '../../../adapters/rabbitmq/public-stream.js';
import { topologyOf } from '../../../adapters/rabbitmq/topology.js';
import { MemoryCheckpoints } from '../../support/memory/checkpoints.js';
import { PublicStreamRefused, PublicStreamUnavailable } from '../../../application/ports/public-stream.js';
import { markOf } from '../../../application/ports/event-store.js';
import { publishEvents } from '../../../application/log/publish-events.js';
import { externalEvent } from '../../../application/log/watch-log.js';
import type { LoggedEvent } from '../../../domain/events.js';
import { derivedUuid, Instant, streamName, Uuid } from '../../../domain/ids.js';
import { describeWithEngines } from '../../support/runner/engines.js';
import { eventually } from '../../support/time/eventually.js';
import { Proxy } from '../../support/servers/proxy.js';
import { clock, freshNamespace, withChannel } from './support.js';

/** What Node calls to write several buffers at once. */
type WriteAll = (this: Socket, chunks: readonly unknown[], done: (error?: Error | null) => void) => void;

const event = (position: number): LoggedEvent => ({
  position: BigInt(position),
  stream: streamName('card', `HC-${position}`),
  revision: 0,
  id: Uuid.parse(`00000000-0000-4000-8000-${String(position).padStart(12, '0')}`),
  type: 'CardQueued',
  data: { note: 'Zoë' },
  metadata: {
    org: null,
    actor: { kind: 'system', id: null },
    requestId: null,
    correlationId: 'c',
    causationId: 'c',
    schemaVersion: 1,
    occurredAt: Instant.parse('2026-03-01T12:00:00.000Z'),
    subject: null,
    keyId: null,
    chain: 2,
    personal: null,
    hash: `hash ${position}`,
  },
});

describeWithEngines(['RABBITMQ_URL'], 'the public stream on RabbitMQ', (url) => {
  const using = async (
    run: (rig: {
      proxy: Proxy;
      stream: RabbitPublicStream;
      read: () => Promise<readonly unknown[]>;
      counted: ReadonlyMap<string, number>;
      inbox: string;
    }) => Promise<void>,
  ): Promise<void> => {
    const namespace = freshNamespace();
    const counted = new Map<string, number>();
    const count = (call: string): void => void counted.set(call, (counted.get(call) ?? 0) + 1);
    const { events } = topologyOf([], namespace);
    const inbox = `${namespace}inbox`;
    await withChannel(url, async (channel) => {
      await channel.assertExchange(events, 'topic', { durable: true });
      await channel.assertQueue(inbox);
      await channel.bindQueue(inbox, events, 'card.*');
    });
    const proxy = await Proxy.before(url, 5672);
    const stream = new RabbitPublicStream({
      url: proxy.urlFor(url),
      clock,
      namespace,
      confirmTimeout: 500,
      count,
    });
    const read = (): Promise<readonly unknown[]> =>
      withChannel(url, async (channel) => {
        const found: unknown[] = [];
        for (let message = await channel.get(inbox); message !== false; message = await channel.get(inbox)) {
          const { routingKey } = message.fields;
          const { messageId, type, deliveryMode } = message.properties;
          found.push({
            routingKey,
            messageId,
            type,
            deliveryMode,
            body: JSON.parse(message.content.toString()),
          });
        }
        return found;
      });
    try {
      await run({ proxy, stream, read, counted, inbox });
    } finally {
      await stream.close();
      await proxy.close();
      await withChannel(url, async (channel) => {
        await channel.deleteQueue(inbox);
        await channel.deleteExchange(events);
      });
    }
  };
  const isUp = (stream: RabbitPublicStream) => eventually(() => stream.down === null);
  const bodyOf = (message: unknown): unknown =>
    typeof message === 'object' && message !== null && 'body' in message ? message.body : null;

  const log = derivedUuid('a log');

  it('publishes CloudEvents in binary mode', () =>
    using(async ({ stream, inbox }) => {
      await isUp(stream);
      await stream.publish([event(1)], log);
      const message = await withChannel(url, (channel) => channel.get(inbox, { noAck: true }));
      if (message === false) throw new Error('no message');
      const { headers = {}, contentType } = message.properties;
      const asHttp = Object.entries(headers as Record<string, string>).map(([name, value]) => [
        name.replace(/^cloudEvents:/, 'ce-'),
        value,
      ]);
      const parsed = HTTP.toEvent({
        headers: { ...Object.fromEntries(asHttp), 'content-type': String(contentType) },
        body: message.content.toString(),
      });
      const read = new CloudEvent(Array.isArray(parsed) ? {} : (parsed as Partial<CloudEvent>));
      const { id, stream: subject, type, metadata } = event(1);
      expect(read).to.include({ id, subject, source: `urn:uuid:${log}`, type: `card.${type}` });
      expect([read.time, read.data]).to.deep.equal([
        metadata.occurredAt,
        JSON.parse(JSON.stringify(externalEvent(event(1), log))),
      ]);
    }));

  it('publishes events in order to bound queues, with category and type as the routing key', () =>
    using(async ({ stream, read, counted }) => {
      await isUp(stream);
      await stream.publish([event(1), event(2)], log);
      expect([...counted]).to.deep.equal([
        ['publish', 2],
        ['confirm', 2],
      ]);
      const expected = [event(1), event(2)].map((logged) => ({
        routingKey: 'card.CardQueued',
        messageId: logged.id,
        type: 'CardQueued',
        deliveryMode: 2,
        body: externalEvent(logged, log),
      }));
      expect(await read()).to.deep.equal(expected);
    }));

  it('tells that a queue refuses events', () =>
    using(async ({ stream, inbox }) => {
      await isUp(stream);
      const full = `${inbox}-full`;
      await withChannel(url, async (channel) => {
        await channel.assertQueue(full, { arguments: { 'x-max-length': 1, 'x-overflow': 'reject-publish' } });
        await channel.bindQueue(full, topologyOf([], inbox.slice(0, -'inbox'.length)).events, 'card.*');
      });
      try {
        const refused = stream.publish([event(1), event(2), event(3)], log);
        expect(await refused.catch((error: unknown) => error)).to.be.instanceOf(PublicStreamRefused);
      } finally {
        await withChannel(url, (channel) => channel.deleteQueue(full));
      }
    }));

  it('hands what is published together to the system in one write', () =>
    using(async ({ stream }) => {
      await isUp(stream);
      const own = Object.getOwnPropertyDescriptor(Socket.prototype, '_writev') as { value: WriteAll };
      const written: number[] = [];
      const value: WriteAll = function note(chunks, done) {
        written.push(chunks.length);
        own.value.call(this, chunks, done);
      };
      Object.defineProperty(Socket.prototype, '_writev', { ...own, value });
      try {
        await stream.publish([event(1), event(2), event(3), event(4)], log);
      } finally {
        Object.defineProperty(Socket.prototype, '_writev', own);
      }
      expect(written).to.deep.equal([4]);
    }));

  it('publishes events that no queue is bound for', () =>
    using(async ({ stream }) => {
      await isUp(stream);
      await stream.publish([{ ...event(1), stream: streamName('key', 'k') }], log);
    }));

  it('throws PublicStreamUnavailable if nothing is confirmed, and says why it is down', () =>
    using(async ({ proxy, stream }) => {
      await isUp(stream);
      await proxy.set('deaf');
      const refused = await stream.publish([event(1)], log).then(
        () => null,
        (error: unknown) => error,
      );
      expect(refused).to.be.instanceOf(PublicStreamUnavailable);
      expect(stream.down).to.be.a('string');
    }));

  it('publishes every event although connections are cut, and repeats only those after the checkpoint', () =>
    using(async ({ proxy, stream, read }) => {
      const all = Array.from({ length: 60 }, (_, index) => event(index + 1));
      const checkpoints = new MemoryCheckpoints();
      const cuts = new Set<bigint>();
      const held = new Map(all.map((logged) => [logged.position, markOf(logged)]));
      const store: Parameters<typeof publishEvents>[0]['store'] = {
        positionBefore: () => Promise.resolve(0n),
        readLog: () => Promise.resolve(all.slice(0, 1)),
        head: () => Promise.reject(new Error('nobody asks')),
        markAt: (position) => Promise.resolve(held.get(position) ?? null),
        async *follow(after: bigint): AsyncGenerator<readonly LoggedEvent[]> {
          for (const logged of all) {
            if (logged.position % 20n === 0n && !cuts.has(logged.position)) {
              cuts.add(logged.position);
              proxy.cut();
            }
            if (logged.position > after) yield [logged];
          }
          await new Promise<void>((resolve) =>
            stop.signal.addEventListener('abort', () => resolve(), { once: true }),
          );
        },
      };
      const stop = new AbortController();
      const running = publishEvents(
        { store, checkpoints, publicStream: stream, clock },
        stop.signal,
        () => undefined,
      );
      await eventually(async () => (await checkpoints.load('public-stream'))?.position === 60n, {});
      stop.abort();
      await running;
      const seen: bigint[] = [];
      for (const message of await read()) {
        const body = bodyOf(message);
        const position =
          typeof body === 'object' && body !== null && 'position' in body
            ? BigInt(String(body.position))
            : 0n;
        if (!seen.includes(position)) seen.push(position);
      }
      expect(seen).to.deep.equal(all.map(({ position }) => position));
    }));
});
