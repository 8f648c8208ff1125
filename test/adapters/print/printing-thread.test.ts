import { expect } from 'chai';
import { PrintingThread } from '../../../adapters/print/printing-thread.js';
import type { Sheet } from '../../../application/ports/sheet-printer.js';
import type { CardCode } from '../../../domain/card-code.js';
import { seen, sheetsIn } from '../../support/http/sheets.js';
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

  const code = 'HC-712340V' as CardCode;
  const drawn = async (...sheets: readonly Sheet[]) => {
    const pieces: Uint8Array[] = [];
    const all = async function* (): AsyncGenerator<Sheet> {
      yield* sheets;
    };
    for await (const piece of new PrintingThread().print(all())) pieces.push(piece);
    return Buffer.concat(pieces);
  };

  it('names a card that is not printed, and why', async () => {
    const pdf = await drawn({ part: 'none', code, design: 'Thanks', problem: 'Not printed' });
    expect(sheetsIn(pdf).map(({ lines }) => lines)).to.deep.equal([[`${code} · Thanks`, 'Not printed']]);
  }).timeout(30_000);

  for (const [message, address, missing] of [
    ['Thanks, Ada! ǅ', 'Zoë Ŵ', ''],
    ['Thanks 😀', 'Ada', ' · missing, finish by hand: 1 character'],
    ['❤️ 👍🏽 Спа', 'Я', ' · missing, finish by hand: 5 characters, 1 character of the address'],
    [`${'a\n'.repeat(24)}b`, 'Ada', ' · missing, finish by hand: 1 line'],
    [`☃${'a\n'.repeat(25)}☃`, 'Ada', ' · missing, finish by hand: 1 character, 2 lines'],
  ] as const)
    it(`says on the inside what a person has to finish: ${missing}`, async () => {
      const inside = { part: 'inside', code, hand: 'Elegant', message, address: [address] } as const;
      const pdf = await drawn(inside);
      expect(sheetsIn(pdf)[0]?.lines.at(-1)).to.equal(`${code} · inside${missing}`);
    }).timeout(30_000);

  it('leaves room for a character that it can’t draw, and no ink', async () => {
    const inside = { part: 'inside', code, hand: 'Elegant', message: '☃', address: [] } as const;
    const [page] = await seen(await drawn(inside), [0]);
    expect(page?.boxOf((r, g, b) => b > r + 25 && g < 200)).to.equal(null);
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
