import { expect } from 'chai';
import sharp from 'sharp';
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
    expect(sheetsIn(pdf).map(({ lines }) => lines)).to.deep.equal([[code, 'Thanks', 'Not printed']]);
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
      expect(sheetsIn(pdf)[0]?.lines.slice(-2)).to.deep.equal([code, `inside${missing}`]);
    }).timeout(30_000);

  it('leaves room for a character that it can’t draw, and no ink', async () => {
    const inside = { part: 'inside', code, hand: 'Elegant', message: '☃', address: [] } as const;
    const [page] = await seen(await drawn(inside), [0]);
    expect(page?.boxOf((r, g, b) => b > r + 25 && g < 200)).to.equal(null);
  }).timeout(30_000);

  it('writes a code as large beside a long name as beside a short one, and cuts the name', async () => {
    const sheets = (design: string) =>
      [
        { part: 'front', code, design, picture: null },
        { part: 'none', code, design, problem: 'Not printed' },
      ] as const;
    const [front, none] = sheetsIn(await drawn(...sheets('For Ada and all '.repeat(12))));
    expect(none?.lines).to.deep.equal([code, none?.lines[1], 'Not printed']);
    for (const name of [front?.lines[1], front?.lines[3], none?.lines[1]])
      expect(name).to.match(/^(front · )?(For Ada and all ){3,10}[\w ]*…$/);
    const codesOf = async (design: string) => {
      const [onFront, onNone] = await seen(await drawn(...sheets(design)), [0, 1]);
      const onFrontAt = { left: 516, top: 1_650, width: 170, height: 33 };
      return [
        await sharp(onFront?.png).extract(onFrontAt).toBuffer(),
        await sharp(onNone?.png).extract({ left: 0, top: 0, width: 1_000, height: 240 }).toBuffer(),
      ];
    };
    expect(await codesOf('For Ada and all '.repeat(12))).to.deep.equal(await codesOf('Thanks'));
  }).timeout(30_000);

  it('draws a PDF while the readers of three others take nothing, and the next once one of them ends', async () => {
    const printer = new PrintingThread();
    const begun: string[] = [];
    const pdf = (name: string) =>
      printer.print(
        (async function* (): AsyncGenerator<Sheet> {
          begun.push(name);
          yield { part: 'none', code, design: name, problem: 'Not printed' };
        })(),
      );
    const stalled = ['first', 'second', 'third'].map(pdf);
    for (const each of stalled) await each.next();
    const pieces: Uint8Array[] = [];
    for await (const piece of pdf('read to its end')) pieces.push(piece);
    expect(sheetsIn(Buffer.concat(pieces))).to.have.length(1);
    const last = pdf('fourth');
    await last.next();
    const next = pdf('fifth').next();
    await nextTurn();
    expect(begun).to.deep.equal(['first', 'second', 'third', 'read to its end', 'fourth']);
    await stalled[0]?.return(undefined);
    expect((await next).value).to.be.instanceOf(Uint8Array);
    for (const each of [...stalled, last]) await each.return(undefined);
  }).timeout(60_000);
});
