import type { EventStore } from '../../../application/ports/event-store.js';
import type { Requests } from '../../../application/requests/request-log.js';

export * from '../../../application/requests/request-log.js';

export class BufferedRequests implements Requests {
  record(): void {}

  find(): Promise<null> {
    return Promise.resolve(null);
  }

  about(): Promise<readonly []> {
    return Promise.resolve([]);
  }

  removeOld(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export class Writings {
  take(): readonly [] {
    return [];
  }
}

export const notingWrites = (store: EventStore): EventStore => store;
