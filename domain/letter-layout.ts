import { handMetrics, type HandMetrics } from './hand-metrics.js';
import { foldName } from './text.js';

/** The part of the card that is written on, in points (72 to the inch). */
const panel = { width: 4.25 * 72, height: 6.25 * 72 } as const;
/** The sizes in which the pen writes, in points. */
const largest = 24;
const smallest = 14;
/** From one line to the next, in sizes. */
const lineHeight = 1.3;

/** How many lines the card has room for in a size. */
const roomAt = (size: number): number => Math.floor(panel.height / (lineHeight * size));

/** How many lines the card has room for in the smallest writing. (decision 65: a message that doesn't fit) */
export const mostLines = roomAt(smallest);

/** The widths of characters, in ems. */
interface Hand {
  readonly widths: ReadonlyMap<string, number>;
  /** Of a character that the typeface lacks, and whose letter without its marks it lacks, too. */
  readonly otherwise: number;
}

const handOf = ({ unitsPerEm, runs }: HandMetrics): Hand => {
  const widths = new Map(
    runs.flatMap(([first, run]) =>
      run.map((width, at) => [String.fromCodePoint(first + at), width / unitsPerEm] as const),
    ),
  );
  return { widths, otherwise: widths.get('n') ?? 0.5 };
};

const hands = new Map(
  Object.entries(handMetrics).map(([name, metrics]) => [foldName(name), handOf(metrics)]),
);

/** A handwriting that was added later has no metrics: it counts as the first one. */
const metricsFor = (handwriting: string): Hand => {
  const hand = hands.get(foldName(handwriting)) ?? hands.get('everyday');
  if (hand === undefined) throw new Error('There are no metrics of the handwriting Everyday');
  return hand;
};

const widthOf = ({ widths, otherwise }: Hand, character: string): number =>
  widths.get(character) ?? widths.get(character.normalize('NFD').charAt(0)) ?? otherwise;

/** A word with the blanks before it: their width counts only if it isn't the first of its line. */
interface Word {
  readonly blanks: string;
  readonly text: string;
}

const wordsOf = (line: string): readonly Word[] =>
  [...line.matchAll(/( *)([^ ]+)/g)].map(([, blanks = '', text = '']) => ({ blanks, text }));

/** One line of the message as lines that are at most `width` ems wide. Only a word that is wider is broken. */
const wrapped = (hand: Hand, line: string, width: number): readonly string[] => {
  const lines: string[] = [];
  let current = '';
  let used = 0;
  const measure = (text: string): number => {
    let sum = 0;
    for (const character of text) sum += widthOf(hand, character);
    return sum;
  };
  const next = () => {
    lines.push(current);
    [current, used] = ['', 0];
  };
  for (const { blanks, text } of wordsOf(line)) {
    const wide = measure(text);
    const gap = current === '' ? 0 : measure(blanks);
    if (current !== '' && used + gap + wide > width) next();
    if (current !== '') [current, used] = [current + blanks, used + gap];
    if (used + wide <= width) {
      [current, used] = [current + text, used + wide];
      continue;
    }
    for (const character of text) {
      const more = widthOf(hand, character);
      if (current !== '' && used + more > width) next();
      [current, used] = [current + character, used + more];
    }
  }
  next();
  return lines;
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
 * How a message stands on the card: in the largest writing in which it fits, with its own line breaks. Words
 * are broken only if they are longer than a line. (decision 65: a message that doesn't fit the card)
 */
export const layOut = (message: string, handwriting: string): Layout => {
  const hand = metricsFor(handwriting);
  const paragraphs = message.split('\n');
  const unknown = [...new Set(message.replaceAll('\n', ''))].filter((each) => !hand.widths.has(each));
  for (let size = largest; ; size--) {
    const lines = paragraphs.flatMap((line) => wrapped(hand, line, panel.width / size));
    const fits = lines.length <= roomAt(size);
    if (fits || size === smallest) return { lines, size, fits, unknown };
  }
};
