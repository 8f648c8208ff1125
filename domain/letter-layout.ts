import handMetrics from './hand-metrics.json' with { type: 'json' };
import { foldName } from './text.js';

/** The part of the card that is written on, in points (72 to the inch). */
export const panel = { width: 4.25 * 72, height: 6.25 * 72 } as const;
/** The sizes in which the pen writes, in points. */
const maxSize = 24;
const minSize = 14;
/** From one line to the next, in sizes. */
export const lineHeight = 1.3;

/** How many lines the card has room for in a size. */
export const roomAt = (size: number): number => Math.floor(panel.height / (lineHeight * size));

/** How many lines the card has room for in the smallest writing. (decision 65: a message that doesn't fit) */
export const maxLines = roomAt(minSize);

/**
 * How wide the characters are that the pen writes, in the typeface that stands for each handwriting: runs of
 * characters that follow each other, by the code of the first. Measured, not written by hand:
 * `test/domain/letter-layout.test.ts` compares them with the typefaces.
 */
interface HandMetrics {
  readonly unitsPerEm: number;
  readonly runs: Readonly<Record<string, readonly number[]>>;
}

/** The widths of characters in ems, by their codes. */
interface Hand {
  readonly widths: Float64Array;
  /** 1 for a character that the typeface has. */
  readonly drawn: Uint8Array;
  /** The width of a character beyond the tables. */
  readonly otherwise: number;
}

/** Beyond the last character that the pen writes. */
const codes = 0x2100;
const line = 0x0a;
const blank = 0x20;

/**
 * Measures a character that the typeface lacks as its letter without marks, or else as an `n`. Half of a
 * surrogate pair, which is no character by itself, has no width.
 */
const handOf = ({ unitsPerEm, runs }: HandMetrics): Hand => {
  const drawn = new Uint8Array(codes);
  const widths = new Float64Array(codes);
  for (const [first, run] of Object.entries(runs))
    for (const [at, width] of run.entries()) {
      drawn[Number(first) + at] = 1;
      widths[Number(first) + at] = width / unitsPerEm;
    }
  const otherwise = widths[0x6e] ?? 0;
  for (let code = 0; code < codes; code++) {
    if (drawn[code] === 1) continue;
    const letter = String.fromCharCode(code).normalize('NFD').charCodeAt(0);
    widths[code] = drawn[letter] === 1 ? (widths[letter] ?? otherwise) : otherwise;
  }
  return { widths, drawn, otherwise };
};

const hands = new Map<string, Hand>();
const metrics: ReadonlyMap<string, HandMetrics> = new Map(
  Object.entries(handMetrics).map(([name, measured]) => [foldName(name), measured]),
);

/**
 * The handwriting in which a message is laid out: one that was added later has no metrics, so it is Everyday.
 */
export const laidOutIn = (handwriting: string): string => {
  const folded = foldName(handwriting);
  return metrics.has(folded) ? folded : 'everyday';
};

/** The typeface that stands for each handwriting. */
export const typefaces: ReadonlyMap<string, string> = new Map([
  ['everyday', 'Caveat'],
  ['elegant', 'Dancing Script'],
  ['casual', 'Kalam'],
  ['schoolhouse', 'Patrick Hand'],
  ['architect', 'Architects Daughter'],
  ['signature', 'Sacramento'],
]);

const handFor = (handwriting: string): Hand => {
  const name = laidOutIn(handwriting);
  const known = hands.get(name);
  if (known !== undefined) return known;
  const measured = metrics.get(name);
  if (measured === undefined) throw new Error('There are no metrics of the handwriting Everyday');
  const hand = handOf(measured);
  hands.set(name, hand);
  return hand;
};

const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;

const widthOf = ({ widths, otherwise }: Hand, code: number): number =>
  code < codes ? (widths[code] ?? otherwise) : isLowSurrogate(code) ? 0 : otherwise;

/** How wide a line is, in ems. */
export const widthIn = (handwriting: string, text: string): number => {
  const hand = handFor(handwriting);
  let width = 0;
  for (let at = 0; at < text.length; at++) width += widthOf(hand, text.charCodeAt(at));
  return width;
};

/** Where the lines of a message begin and end, one after the other. */
type Breaks = readonly number[];

/**
 * Breaks a message into lines that are at most `columns` ems wide, between words and at its own line breaks.
 * Only a word that is wider than a line is broken. Every card goes through here: it counts, and copies
 * nothing.
 */
const breaksOf = (hand: Hand, message: string, columns: number): Breaks => {
  // Sums of fractions are not exact: a line exactly as wide as the card must still fit.
  const width = columns + 1e-9;
  const breaks: number[] = [];
  let begin = 0;
  let end = 0;
  let used = 0;
  let isEmpty = true;
  let at = 0;
  const finish = (to: number) => {
    breaks.push(isEmpty ? to : begin, to);
    isEmpty = true;
    used = 0;
  };
  for (;;) {
    let gap = 0;
    for (; message.charCodeAt(at) === blank; at++) gap += widthOf(hand, blank);
    const word = at;
    let wide = 0;
    for (; at < message.length; at++) {
      const code = message.charCodeAt(at);
      if (code === blank || code === line) break;
      wide += widthOf(hand, code);
    }
    if (word < at) {
      if (!isEmpty && used + gap + wide > width) finish(end);
      if (!isEmpty) used += gap + wide;
      else {
        [begin, isEmpty] = [word, false];
        used = wide;
        if (wide > width) {
          used = 0;
          for (let inside = word; inside < at; inside++) {
            const more = widthOf(hand, message.charCodeAt(inside));
            if (used > 0 && used + more > width) {
              finish(inside);
              [begin, isEmpty] = [inside, false];
            }
            used += more;
          }
        }
      }
      end = at;
    }
    if (at < message.length && message.charCodeAt(at) !== line) continue;
    finish(isEmpty ? at : end);
    if (at >= message.length) return breaks;
    at++;
  }
};

/** How many lines the message takes in the smallest writing. */
export const fewestLines = (message: string, handwriting: string): number =>
  breaksOf(handFor(handwriting), message, panel.width / minSize).length / 2;

const linesOf = (message: string, breaks: Breaks): readonly string[] =>
  Array.from({ length: breaks.length / 2 }, (_, n) => message.slice(breaks[2 * n], breaks[2 * n + 1]));

/** The distinct characters that the typeface lacks. */
const unknownIn = ({ drawn }: Hand, message: string): readonly string[] => {
  const unknown = new Set<string>();
  for (let at = 0; at < message.length; at++) {
    const code = message.charCodeAt(at);
    if (code === line || drawn[code] === 1 || isLowSurrogate(code)) continue;
    unknown.add(String.fromCodePoint(message.codePointAt(at) ?? code));
  }
  return [...unknown];
};

export interface Layout {
  readonly lines: readonly string[];
  /** In points. */
  readonly size: number;
  /** False if there are more lines than the card has room for, even in the smallest writing. */
  readonly fits: boolean;
  /** The distinct characters that the typeface lacks: their widths are estimated. */
  readonly unknown: readonly string[];
}

/**
 * Lays a message out on the card: in the largest writing in which it fits, with its own line breaks. Words
 * are broken only if they are longer than a line. (decision 65: a message that doesn't fit the card)
 */
export const layOut = (message: string, handwriting: string): Layout => {
  const hand = handFor(handwriting);
  for (let size = maxSize; ; size--) {
    const breaks = breaksOf(hand, message, panel.width / size);
    const fits = breaks.length / 2 <= roomAt(size);
    if (fits || size === minSize)
      return { lines: linesOf(message, breaks), size, fits, unknown: unknownIn(hand, message) };
  }
};
