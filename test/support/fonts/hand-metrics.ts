import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { unwritable } from '../../../domain/pen.js';
import { widthsOf } from './woff.js';

const root = join(import.meta.dirname, '../../../..');

/** The typeface in which each handwriting is laid out. */
const typefaces = {
  Everyday: 'caveat',
  Elegant: 'dancing-script',
  Casual: 'kalam',
  Schoolhouse: 'patrick-hand',
  Architect: 'architects-daughter',
  Signature: 'sacramento',
};

const fileOf = (typeface: string, part: string): string =>
  join(root, `node_modules/@fontsource/${typeface}/files/${typeface}-${part}-400-normal.woff`);

/** Whether the typefaces are installed. */
export const hasTypefaces = (): boolean =>
  Object.values(typefaces).every((typeface) => existsSync(fileOf(typeface, 'latin')));

const writable = Array.from({ length: 0x2100 }, (_, code) => code).filter(
  (code) => unwritable(String.fromCodePoint(code), { lineFeed: false }).length === 0,
);

/** Widths of consecutive characters, after the code of the first. */
type Run = readonly [first: number, widths: number[]];

const runsOf = (widths: ReadonlyMap<number, number>): readonly Run[] => {
  const runs: Run[] = [];
  for (const code of writable) {
    const width = widths.get(code);
    if (width === undefined) continue;
    const last = runs.at(-1);
    if (last !== undefined && last[0] + last[1].length === code) last[1].push(width);
    else runs.push([code, [width]]);
  }
  return runs;
};

/** The widths of the characters that the pen writes, as the typefaces that are installed have them. */
export const measuredHands = (): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(typefaces).map(([hand, typeface]) => {
      const [latin, extended] = ['latin', 'latin-ext'].map((part) =>
        widthsOf(readFileSync(fileOf(typeface, part))),
      );
      if (latin === undefined || extended?.unitsPerEm !== latin.unitsPerEm)
        throw new Error(`${typeface} has two sizes`);
      const runs = runsOf(new Map([...extended.widths, ...latin.widths]));
      return [hand, { unitsPerEm: latin.unitsPerEm, runs: Object.fromEntries(runs) }];
    }),
  );
