import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { create, type Font, type Glyph } from 'fontkit';
import { laidOutIn, typefaces } from '../../domain/letter-layout.js';

const opened = new Map<string, readonly Font[]>();

/** The files of the typeface of a handwriting. */
const fontsOf = (hand: string): readonly Font[] => {
  const known = opened.get(hand);
  if (known !== undefined) return known;
  const name = (typefaces.get(hand) ?? '').toLowerCase().replaceAll(' ', '-');
  const fonts = ['latin', 'latin-ext'].flatMap((part) => {
    const place = import.meta.resolve(`@fontsource/${name}/files/${name}-${part}-400-normal.woff2`);
    const font = create(readFileSync(fileURLToPath(place)));
    return 'fonts' in font ? font.fonts : [font];
  });
  opened.set(hand, fonts);
  return fonts;
};

/** A character as its typeface draws it, in ems. */
export interface Drawn {
  /** By which its drawing is known. */
  readonly name: string;
  readonly glyph: Glyph;
  readonly unitsPerEm: number;
  /** It can't be drawn: there is room for it, as wide as an `n`. */
  readonly isMissing: boolean;
}

/** Where a hand lacks a character, Everyday has it, or else its letter without marks. */
export const drawnIn = (hand: string, character: string): Drawn => {
  const names = new Set([laidOutIn(hand), 'everyday']);
  for (const [at, wanted] of [character, character.normalize('NFD').charAt(0), 'n'].entries())
    for (const name of names)
      for (const font of fontsOf(name)) {
        const code = wanted.codePointAt(0) ?? 0;
        if (!font.hasGlyphForCodePoint(code)) continue;
        const glyph = font.glyphForCodePoint(code);
        return { name: `${name}-${code}`, glyph, unitsPerEm: font.unitsPerEm, isMissing: at === 2 };
      }
  throw new Error('No typeface has an n');
};
