import { expect } from 'chai';
import { contactRows, UnreadableFile } from '../../../../adapters/http/api/contact-file.js';

const options = { key: undefined, keyIsNamed: 'as the key column', fromLine: 1 };

async function* inPieces(bytes: Buffer, size = 64 * 1024): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const rowsOf = async (pieces: AsyncIterable<Buffer>) => {
  const rows = [];
  for await (const row of contactRows(pieces, options)) rows.push(row);
  return rows;
};

describe('the rows of a file of contacts', () => {
  it('are refused if one has too many cells', async () => {
    const row = `a${','.repeat(500)}\n`;
    const failure = await rowsOf(inPieces(Buffer.from(`external_id\n${row}`))).catch(String);
    expect(failure).to.include('more than 500 cells');
  });

  it('are refused if one does not end, however small its cells are, before the rest is read', async () => {
    for (const begin of ['', 'external_id,name\na,Ann\n']) {
      let read = 0;
      const endless = (async function* () {
        yield Buffer.from(begin);
        for (; read < 100; read += 1) yield Buffer.alloc(64 * 1024, ',');
      })();
      const failure = await rowsOf(endless).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(UnreadableFile);
      expect(String(failure)).to.include('longer than 400 KiB');
      expect(read).to.be.lessThan(10);
    }
  });

  it('let other work go on while they are read', async () => {
    const bytes = Buffer.from(`external_id,name\n${'a,Ann\n'.repeat(200)}`);
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    expect((await rowsOf(inPieces(bytes, 50))).length).to.equal(200);
    isOver = true;
    expect(turns).to.be.greaterThan(20);
  });

  it('are refused with the reason if the file is not in UTF-8, wherever its pieces are cut', async () => {
    const good = Buffer.from('external_id,name\na,Jürgen\n');
    expect((await rowsOf(inPieces(good, 1))).length).to.equal(1);
    for (const bytes of [Buffer.from('external_id,name\na,Jürgen\n', 'latin1'), good.subarray(0, 21)]) {
      const failure = await rowsOf(inPieces(bytes, 4)).catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(UnreadableFile);
      expect(String(failure)).to.include('UTF-8');
    }
  });
});
