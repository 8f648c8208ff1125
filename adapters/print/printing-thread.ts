import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { limitConcurrency } from '../../application/timing/limit-concurrency.js';
import type { Sheet, SheetPrinter } from '../../application/ports/sheet-printer.js';

const program = new URL('./draw-sheets.js', import.meta.url);
/** For sheets and pictures under way, in megabytes. */
const resourceLimits = { maxOldGenerationSizeMb: 256 };

/**
 * Draws one PDF after the other, each in a thread of its own: the libraries alone take the time of many
 * requests.
 */
export class PrintingThread implements SheetPrinter {
  readonly #inTurn = limitConcurrency(1);

  async *print(sheets: AsyncIterable<Sheet>): AsyncGenerator<Uint8Array> {
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    await new Promise<void>((begin) => void this.#inTurn(() => (begin(), ended)));
    try {
      yield* this.#drawn(sheets);
    } finally {
      end();
    }
  }

  async *#drawn(sheets: AsyncIterable<Sheet>): AsyncGenerator<Uint8Array> {
    const thread = new Worker(program, { resourceLimits });
    const failed = new Promise<never>((_, fail) => thread.once('error', fail));
    failed.catch(() => undefined);
    const drawn = async (sheet: Sheet | null): Promise<Uint8Array> => {
      thread.postMessage(sheet);
      const [bytes]: unknown[] = await Promise.race([once(thread, 'message'), failed]);
      return bytes as Uint8Array;
    };
    try {
      for await (const sheet of sheets) yield await drawn(sheet);
      yield await drawn(null);
    } finally {
      await thread.terminate();
    }
  }
}
