import { expect } from 'chai';
import { PrintingThread } from '../../../adapters/print/printing-thread.js';
import type { Sheet } from '../../../application/ports/sheet-printer.js';
import type { CardCode } from '../../../domain/card-code.js';
import { sheetsIn } from '../../support/http/sheets.js';
import { nextTurn } from '../../../application/timing/next-turn.js';

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

  it('names a card that is not printed, and why', async () => {
    const code = 'HC-712340V' as CardCode;
    const sheets = async function* (): AsyncGenerator<Sheet> {
      yield { part: 'none', code, design: 'Thanks', problem: 'Not printed' };
    };
    const pieces: Uint8Array[] = [];
    for await (const piece of new PrintingThread().print(sheets())) pieces.push(piece);
    const drawn = sheetsIn(Buffer.concat(pieces));
    expect(drawn.map(({ lines }) => lines)).to.deep.equal([[`${code} · Thanks`, 'Not printed']]);
  }).timeout(30_000);

  it('draws one PDF after the other, and the next when nobody reads the one before to its end', async () => {
    const printer = new PrintingThread();
    const begun: string[] = [];
    const pdf = (name: string) =>
      printer.print(
        (async function* (): AsyncGenerator<Sheet> {
          begun.push(name);
          yield* [];
        })(),
      );
    const first = pdf('first');
    await first.next();
    const next = pdf('second').next();
    await nextTurn();
    expect(begun).to.deep.equal(['first']);
    await first.return(undefined);
    expect((await next).value).to.be.instanceOf(Uint8Array);
    expect(begun).to.deep.equal(['first', 'second']);
  }).timeout(30_000);
});
