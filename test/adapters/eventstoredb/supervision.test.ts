import { PassThrough, Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { expect } from 'chai';
import { supervised } from '../../../adapters/eventstoredb/supervision.js';
import { clock } from './support.js';

describe('a read that is left', () => {
  it('has its call read to the end: else the client would keep it, and wait for it when it closes', async () => {
    const call = Readable.from(Array.from({ length: 100 }, (_, number) => ({ number })));
    const ended = finished(call);
    const read = call.pipe(new PassThrough({ objectMode: true, highWaterMark: 2 }));
    const items = supervised<unknown>(read, {
      clock,
      time: 60_000,
      onSilence: async () => null,
      cancel: async () => undefined,
      signals: [],
    });
    for await (const item of items) {
      expect(item).to.deep.equal({ number: 0 });
      break;
    }
    await ended;
  });
});
