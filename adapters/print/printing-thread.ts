import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { limitConcurrency } from '../../application/timing/limit-concurrency.js';
import type { Sheet, SheetPrinter } from '../../application/ports/sheet-printer.js';

const program = new URL('./draw-sheets.js', import.meta.url);
/** For sheets and pictures under way, in megabytes. */
const resourceLimits = { maxOldGenerationSizeMb: 256 };

/** Each has a thread for as long as its reader takes. */
const maxOpen = 4;

/**
 * Draws one sheet after the other, those of each PDF in a thread of its own: the libraries alone take the
 * time of many requests. No PDF waits for the reader of another, up to `maxOpen`.
 */
export class PrintingThread implements SheetPrinter {
  readonly #opened = limitConcurrency(maxOpen);
  readonly #inTurn = limitConcurrency(1);

  async *print(sheets: AsyncIterable<Sheet>): AsyncGenerator<Uint8Array> {
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    await new Promise<void>((begin) => void this.#opened(() => (begin(), ended)));
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
    const drawn = (sheet: Sheet | null): Promise<Uint8Array> =>
      this.#inTurn(async () => {
        thread.postMessage(sheet);
        const [bytes]: unknown[] = await Promise.race([once(thread, 'message'), failed]);
        return bytes as Uint8Array;
      });
    try {
      for await (const sheet of sheets) yield await drawn(sheet);
      yield await drawn(null);
    } finally {
      await thread.terminate();
    }
  }
}
