import type { CardCode } from '../../domain/card-code.js';

/** A sheet that is printed for a card, in its handwriting; `none` says why the card has no others. */
export type Sheet = { readonly code: CardCode } & (
  | {
      readonly part: 'front';
      readonly design: string;
      /** The print master; null if there is none, and left out if it is that of the front before. */
      readonly picture?: Buffer | null;
    }
  | {
      readonly part: 'inside';
      readonly hand: string;
      readonly message: string;
      /** The lines of the envelope: the sheet says what can't be drawn of them, too. */
      readonly address: readonly string[];
    }
  | { readonly part: 'envelope'; readonly hand: string; readonly lines: readonly string[] }
  | { readonly part: 'none'; readonly design: string; readonly problem: string }
);

/** Draws sheets for a printing press. */
export interface SheetPrinter {
  /** A PDF with a page for each sheet, in pieces; the next sheet is asked for once those of one are taken. */
  print(sheets: AsyncIterable<Sheet>): AsyncIterable<Uint8Array>;
}
