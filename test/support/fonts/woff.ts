import { inflateSync } from 'node:zlib';

/** The tables of a font in WOFF 1, by their tags, unpacked. */
const tablesOf = (file: Buffer): ReadonlyMap<string, Buffer> => {
  if (file.toString('latin1', 0, 4) !== 'wOFF') throw new Error('This is no WOFF file');
  const tables = new Map<string, Buffer>();
  for (let n = 0; n < file.readUInt16BE(12); n++) {
    const entry = 44 + 20 * n;
    const [offset, packed, length] = [4, 8, 12].map((at) => file.readUInt32BE(entry + at));
    if (offset === undefined || packed === undefined) throw new Error('The file ends too early');
    const bytes = file.subarray(offset, offset + packed);
    tables.set(file.toString('latin1', entry, entry + 4), packed === length ? bytes : inflateSync(bytes));
  }
  return tables;
};

/** The glyph of each character, from the table of the Unicode characters below U+10000 (format 4). */
const glyphsOf = (cmap: Buffer): ReadonlyMap<number, number> => {
  const subtables = Array.from({ length: cmap.readUInt16BE(2) }, (_, n) => cmap.readUInt32BE(8 + 8 * n));
  const start = subtables.find((at) => cmap.readUInt16BE(at) === 4);
  if (start === undefined) throw new Error('The font has no character map of format 4');
  const count = cmap.readUInt16BE(start + 6) / 2;
  const glyphs = new Map<number, number>();
  for (let segment = 0; segment < count; segment++) {
    const field = (index: number) => start + 14 + 2 * segment + 2 * count * index + (index > 0 ? 2 : 0);
    const [last, first, delta] = [0, 1, 2].map((index) => cmap.readUInt16BE(field(index)));
    const rangeAt = field(3);
    const range = cmap.readUInt16BE(rangeAt);
    if (last === undefined || first === undefined || delta === undefined) continue;
    for (let code = first; code <= last && code !== 0xffff; code++) {
      const indexed = range === 0 ? code : cmap.readUInt16BE(rangeAt + range + 2 * (code - first));
      const glyph = indexed === 0 ? 0 : (indexed + delta) % 0x10000;
      if (glyph !== 0) glyphs.set(code, glyph);
    }
  }
  return glyphs;
};

/** How wide the characters of a font are. */
export interface FontWidths {
  readonly unitsPerEm: number;
  readonly widths: ReadonlyMap<number, number>;
}

/** The advance widths of the characters of a font in WOFF 1. */
export const widthsOf = (file: Buffer): FontWidths => {
  const tables = tablesOf(file);
  const table = (tag: string): Buffer => {
    const bytes = tables.get(tag);
    if (bytes === undefined) throw new Error(`The font has no table ${tag}`);
    return bytes;
  };
  const metrics = table('hmtx');
  const last = table('hhea').readUInt16BE(34) - 1;
  const advance = (glyph: number) => metrics.readUInt16BE(4 * Math.min(glyph, last));
  const widths = new Map([...glyphsOf(table('cmap'))].map(([code, glyph]) => [code, advance(glyph)]));
  return { unitsPerEm: table('head').readUInt16BE(18), widths };
};
