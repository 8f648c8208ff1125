import type { EventStoreDBClient } from '@eventstore/db-client';
import type { CountCall } from '../../application/ports/count-call.js';

const counted: Readonly<Record<string, string>> = {
  appendToStream: 'append',
  readStream: 'read stream',
  readAll: 'read all',
  subscribeToAll: 'subscribe',
};

/**
 * Counts the calls of a client from now on, including calls by its own methods (a batch counts its own
 * appends).
 */
export const countCalls = (client: EventStoreDBClient, count: CountCall): void => {
  for (const [method, call] of Object.entries(counted)) {
    const original: unknown = Reflect.get(client, method);
    if (typeof original !== 'function') throw new TypeError(`the client has no ${method}`);
    Reflect.set(client, method, function (this: unknown, ...args: unknown[]): unknown {
      count(call);
      const result: unknown = Reflect.apply(original, this, args);
      return result;
    });
  }
};
