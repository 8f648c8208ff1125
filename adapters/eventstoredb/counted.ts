import type { EventStoreDBClient } from '@eventstore/db-client';
import type { CountCall } from '../../application/ports/count-call.js';

/** The client sends an append without credentials through its batch, if the server has one. */
const appendOf = ([, , options]: readonly unknown[]): string =>
  typeof options === 'object' && options !== null && 'credentials' in options ? 'append' : 'batch append';

const counted: Readonly<Record<string, (args: readonly unknown[]) => string>> = {
  appendToStream: appendOf,
  readStream: () => 'read stream',
  readAll: () => 'read all',
  subscribeToAll: () => 'subscribe',
};

/** Counts the calls of a client from now on, those that its own methods make included. */
export const countCalls = (client: EventStoreDBClient, count: CountCall): void => {
  for (const [method, callOf] of Object.entries(counted)) {
    const original: unknown = Reflect.get(client, method);
    if (typeof original !== 'function') throw new TypeError(`the client has no ${method}`);
    Reflect.set(client, method, (...args: unknown[]): unknown => {
      count(callOf(args));
      const result: unknown = Reflect.apply(original, client, args);
      return result;
    });
  }
};
