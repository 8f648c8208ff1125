import { turnAlone } from '../../../application/timing/next-turn.js';

/** The file, or the rest of it, can't be read. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}

/** The cells of a row, or why it can't be read. */
type Cells = { readonly cells: readonly string[] } | { readonly problem: string };

/** A row that is not empty, and the line on which it begins. `bytes`: how much of the file has been read. */
export type CsvRow = { readonly line: number; readonly bytes: number } & Cells;

/** In characters. */
const maxLength = 400 * 1024;
const maxCells = 500;
/** After so many characters other work has its turn: some thousand rows. */
const pieceLength = 4 * 1024;
const tooLong = 'A line is longer than 400 KiB.';
const wrongQuotes =
  'a quotation mark is inside a cell, or not closed. Double each inside a cell, and put the cell in quotation marks';

const decode = (decoder: TextDecoder, piece?: Buffer): string => {
  try {
    return decoder.decode(piece, { stream: piece !== undefined });
  } catch {
    const encoding = decoder.encoding.toUpperCase();
    throw new UnreadableFile(`The file is not in ${encoding}. Save it as “CSV UTF-8”, and send that.`);
  }
};

/** The first byte of a byte order mark that begins no UTF-8. */
const encodings: ReadonlyMap<number, string> = new Map([
  [0xff, 'utf-16le'],
  [0xfe, 'utf-16be'],
]);

/** The texts of the pieces. */
async function* decoded(pieces: AsyncIterable<Buffer>) {
  let decoder: TextDecoder | null = null;
  let bytes = 0;
  for await (const piece of pieces) {
    decoder ??= new TextDecoder(encodings.get(piece[0] ?? 0) ?? 'utf-8', { fatal: true });
    bytes += piece.length;
    yield { more: decode(decoder, piece), bytes, isLast: false };
  }
  yield { more: decoder === null ? '' : decode(decoder), bytes, isLast: true };
}

const delimiterNamed = /^"?sep=([^\w"])"?[\r\n]/i;

/** The pattern of a cell and what follows it, by the first line of a text; null if that has no end yet. */
const cellPattern = (text: string, isLast: boolean): RegExp | null => {
  const [, first = '', end = ''] = /^[\r\n]*([^\r\n]+)(\n|\r[^]|$)/.exec(text) ?? [];
  if (end === '' && !isLast) return null;
  const plain = first.slice(0, 100_000).replaceAll(/"[^"]*(?:"|$)/g, '');
  const count = (delimiter: string): number => plain.split(delimiter).length;
  const most = [',', ';', '\t', '|'].reduce((one, other) => (count(other) > count(one) ? other : one));
  const delimiter = `\\${delimiterNamed.exec(text)?.[1] ?? most}`;
  return new RegExp(`(?: *=?"([^"]*(?:""[^"]*)*)" *|([^"\\r\\n${delimiter}]*))(${delimiter}|\\r?\\n?$)`, 'y');
};

const cellsIn = (row: string, pattern: RegExp): Cells => {
  const cells: string[] = [];
  pattern.lastIndex = 0;
  for (;;) {
    const [, quoted, plain = '', end] = pattern.exec(row) ?? [];
    if (end === undefined) return { problem: wrongQuotes };
    if (cells.length === maxCells) return { problem: `it has more than ${maxCells} cells` };
    cells.push(quoted?.replaceAll('""', '"') ?? plain);
    if ('\r\n'.includes(end)) return { cells };
  }
};

const lineBreak = /\r\n?|\n/g;
const breakOrQuote = /\r\n?|\n|"/g;

const countLines = (row: string): number => {
  let count = 0;
  lineBreak.lastIndex = 0;
  while (lineBreak.test(row)) count += 1;
  return count;
};

/** Where the row that begins there ends, by its quotation marks; Infinity if its end is not in the text. */
const endOfRow = (text: string, start: number): number => {
  breakOrQuote.lastIndex = start;
  while (breakOrQuote.exec(text)?.[0] === '"')
    breakOrQuote.lastIndex = text.indexOf('"', breakOrQuote.lastIndex) + 1 || Infinity;
  return breakOrQuote.lastIndex || Infinity;
};

/**
 * The row that begins there; null if its end has not been read yet. One with a problem ends with its first
 * line: its quotation marks can't be trusted. Throws UnreadableFile if a line is too long.
 */
const rowAt = (text: string, start: number, isLast: boolean, pattern: RegExp) => {
  const end = endOfRow(text, start);
  const isRead = isLast || end < text.length || (end === text.length && text.endsWith('\n'));
  if (!isRead && text.length - start <= maxLength) return null;
  const row = text.slice(start, end);
  const found = row.length > maxLength ? { problem: wrongQuotes } : cellsIn(row, pattern);
  if ('cells' in found)
    return { found, end: start + row.length, lines: row.includes('"') ? countLines(row) : 1 };
  lineBreak.lastIndex = start;
  const endOfLine = lineBreak.test(text) ? lineBreak.lastIndex : text.length;
  if (endOfLine - start > maxLength) throw new UnreadableFile(tooLong);
  return { found, end: endOfLine, lines: 1 };
};

/**
 * Yields the rows of a CSV file in order, from pieces of its bytes, without reading the whole file first.
 * Lines may end in any way. A first line such as `sep=;` names the delimiter. A row that can't be read spoils
 * no other. Throws UnreadableFile, and the errors of the pieces.
 */
export async function* csvRows(pieces: AsyncIterable<Buffer>): AsyncGenerator<CsvRow, void, undefined> {
  let pattern: RegExp | null = null;
  let text = '';
  let line = 1;
  let wanted = 0;
  let sinceTurn = 0;
  for await (const { more, bytes, isLast } of decoded(pieces)) {
    text += more;
    // A long row is not looked at again with every piece.
    if (text.length < wanted && !isLast) continue;
    pattern ??= cellPattern(text, isLast);
    if (pattern === null && text.length > maxLength) throw new UnreadableFile(tooLong);
    let at = 0;
    while (pattern !== null && at < text.length) {
      const row = rowAt(text, at, isLast, pattern);
      if (row === null) break;
      const { found, end, lines } = row;
      const isFilled = 'problem' in found || found.cells.some((cell) => cell.trim() !== '');
      if (isFilled && !(line === 1 && delimiterNamed.test(text))) yield { line, bytes, ...found };
      line += lines;
      sinceTurn += end - at;
      at = end;
      if (sinceTurn > pieceLength) {
        sinceTurn = 0;
        await turnAlone();
      }
    }
    text = text.slice(at);
    wanted = 2 * text.length;
  }
}
