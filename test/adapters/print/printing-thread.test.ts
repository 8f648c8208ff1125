import { expect } from 'chai';
import { PrintingThread } from '../../../adapters/print/printing-thread.js';
import type { Sheet } from '../../../application/ports/sheet-printer.js';

describe('a printing thread', () => {
  it('fails alone: the error of a sheet that can’t be drawn is that of its PDF', async () => {
    const sheets = async function* (): AsyncGenerator<Sheet> {
      yield JSON.parse('{ "part": "inside", "hand": "Everyday" }') as Sheet;
    };
    let failure: unknown = null;
    try {
      for await (const _ of new PrintingThread().print(sheets())) expect.fail('it was drawn');
    } catch (error) {
      failure = error;
    }
    expect(String(failure)).to.match(/TypeError/);
  }).timeout(30_000);
});
