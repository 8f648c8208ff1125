import type { MessagePort } from 'node:worker_threads';
import type { FromNotary, ToNotary } from '../../../adapters/sqlite/notary/notary-thread.js';

/** Says that everything has been read back, and notarizes nothing. */
export const serveNotary = async ({ port }: { readonly port: MessagePort }): Promise<void> => {
  const done: FromNotary = { kind: 'scrubbed' };
  port.postMessage(done);
  await new Promise<void>((resolve) => {
    port.on('message', (message: ToNotary) => {
      if (message.kind === 'stop') resolve();
    });
  });
  port.close();
};
