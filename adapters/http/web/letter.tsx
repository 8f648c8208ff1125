import {
  laidOutIn,
  layOut,
  lineHeight,
  maxLines,
  panel,
  roomAt,
  typefaces,
  widthIn,
  type Layout,
} from '../../../domain/letter-layout.js';
import { penReason, unwritable } from '../../../domain/pen.js';
import type { Html } from './prose.js';

/** Between the edge of the paper and the writing, in points. */
const margin = 27;

/** Characters that XML can't contain but a message can; such a message is held, not refused. */
const drawable = (text: string): string => text.replaceAll(/(?!\t)[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu, '\uFFFD');

/** Widths of lines are the typeface's without kerning and ligatures, so none is used. */
const writtenIn = (hand: string, size: number) =>
  ({
    fill: '#22304f',
    'font-family': `${typefaces.get(laidOutIn(hand)) ?? ''}, cursive`,
    'font-size': size,
    'font-kerning': 'none',
    'font-variant-ligatures': 'none',
  }) as const;

const inWords = (what: string, hand: string, text: string): string =>
  text === '' ? 'Nothing is written yet' : `The ${what} in a hand like ${hand}: ${drawable(text)}`;

interface SheetProps {
  readonly hand: string;
  readonly layout: Layout;
}

interface PaperProps extends Pick<SheetProps, 'hand'> {
  readonly width: number;
  readonly height: number;
  /** The writing, in words. */
  readonly label: string;
  readonly children: Html;
}

const Paper = ({ hand, width, height, label, children }: PaperProps) => (
  <svg
    xmlns="http://www.w3.org/2000/svg"
    class={`sheet ${laidOutIn(hand)}`}
    viewBox={`0 0 ${width} ${height}`}
    role="img"
    aria-label={label}
  >
    <rect width={width} height={height} fill="#fffdf6" />
    {children}
  </svg>
);

/** The inside of the card, in points, each line where the layout breaks it. Lines beyond it are left out. */
export const Sheet = ({ hand, layout: { lines, size } }: SheetProps) => {
  const [width, height] = [panel.width + 2 * margin, panel.height + 2 * margin];
  return (
    <Paper {...{ hand, width, height }} label={inWords('message', hand, lines.join(' '))}>
      <g {...writtenIn(hand, size)}>
        {lines.slice(0, roomAt(size)).map((line, at) => (
          <text x={margin} y={margin + (at + 0.75) * size * lineHeight} xml:space="preserve">
            {drawable(line)}
          </text>
        ))}
      </g>
    </Paper>
  );
};

/** In points. */
const envelope = { width: 7.25 * 72, height: 5.25 * 72, writing: 22 } as const;

/** The envelope, in points, as it is printed: a line that is too wide for it is written smaller. */
export const Envelope = ({ hand, lines }: Pick<SheetProps, 'hand'> & Pick<Layout, 'lines'>) => {
  const { width, height, writing } = envelope;
  return (
    <Paper {...{ hand, width, height }} label={inWords('address', hand, lines.join(', '))}>
      <rect x={width - 90} y="27" width="63" height="72" fill="none" stroke="#a9a38d" stroke-dasharray="4" />
      <g {...writtenIn(hand, writing)}>
        {lines.map((line, at) => (
          <text
            x={width * 0.38}
            y={height * 0.47 + at * writing * lineHeight}
            font-size={Math.min(writing, (width * 0.54) / widthIn(hand, line))}
            xml:space="preserve"
          >
            {drawable(line)}
          </text>
        ))}
      </g>
    </Paper>
  );
};

/** A few words in a hand, on one line. */
export const SheetLine = ({ hand, layout: { lines, size } }: SheetProps) => (
  <svg class={`line ${laidOutIn(hand)}`} viewBox="0 0 306 34" aria-hidden="true">
    <text x="0" y="25" font-size={size}>
      {lines[0]}
    </text>
  </svg>
);

/** Reasons why a message is not written as it is shown, in words. */
const Doubts = ({ layout: { lines, fits, unknown } }: Pick<SheetProps, 'layout'>) => {
  const beyond = unwritable(unknown.join(''), { lineFeed: false });
  const others = unknown.filter((character) => !beyond.includes(character));
  return (
    <>
      {fits ? null : (
        <p class="note warning">
          The message takes {lines.length} lines in this hand; the card has room for {maxLines}.
        </p>
      )}
      {beyond.length === 0 ? null : (
        <p class="note warning">{penReason(beyond, 'message')}. A person has to write what is missing.</p>
      )}
      {others.length === 0 ? null : (
        <p class="quiet small">Shown here in another typeface: {others.join(' ')}</p>
      )}
    </>
  );
};

/** A message as it would be written, with its problems. */
export const Letter = ({ message, hand }: { readonly message: string; readonly hand: string }) => {
  const layout = layOut(message, hand);
  const isOther = laidOutIn(hand) !== hand.toLowerCase();
  return (
    <>
      <Sheet hand={hand} layout={layout} />
      <Doubts layout={layout} />
      <p class="quiet small">
        Preview in a similar hand. The pen’s own lines may differ.
        {isOther ? ` ${hand} is shown in Everyday.` : ''}
      </p>
    </>
  );
};
