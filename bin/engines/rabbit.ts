import { RabbitDeliveryQueue } from '../../adapters/rabbitmq/delivery-queue.js';
import { RabbitPublicStream } from '../../adapters/rabbitmq/public-stream.js';
import type { Engine, EngineOptions } from '../engine.js';
import { EngineCalls } from '../engine-calls.js';
import { incidentLog } from './incidents.js';

/** The same engine, with hints and the public event stream going through RabbitMQ. */
export const withRabbit = (
  engine: Engine,
  url: string,
  { settings, clock, log, namespace = '', calls = new EngineCalls() }: EngineOptions,
): Engine => {
  const count = calls.counterOf('RabbitMQ');
  const onError = incidentLog(log, clock, 'RabbitMQ');
  const deliveryQueue = new RabbitDeliveryQueue({
    url,
    clock,
    waits: settings.webhooks.backoff,
    namespace,
    onError,
    count,
  });
  const publicStream = new RabbitPublicStream({ url, clock, namespace, onError, count });
  return {
    ...engine,
    deliveryQueue,
    publicStream,
    hasServers: true,
    readiness: async () => {
      const down = deliveryQueue.down ?? publicStream.down;
      return [{ name: 'rabbitmq', ready: down === null, detail: down }, ...(await engine.readiness())];
    },
    close: async () => {
      await Promise.all([deliveryQueue.close(), publicStream.close()]);
      await engine.close();
    },
  };
};
