import {
  laidOutIn,
  layOut,
  lineHeight,
  maxLines,
  panel,
  roomAt,
  type Layout,
} from '../../../domain/letter-layout.js';

/** Between the edge of the card and the writing, in points. */
const margin = 27;

/** The typeface of each handwriting, for programs that show a preview somewhere else. */
const typefaces: Readonly<Record<string, string>> = {
  everyday: 'Caveat',
  elegant: 'Dancing Script',
  casual: 'Kalam',
  schoolhouse: 'Patrick Hand',
  architect: 'Architects Daughter',
  signature: 'Sacramento',
};

/** Characters that XML can't contain but a message can; such a message is held, not refused. */
const drawable = (text: string): string => text.replaceAll(/(?!\t)[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu, '\uFFFD');

interface SheetProps {
  readonly hand: string;
  readonly layout: Layout;
}

/**
 * The inside of the card, in points, each line where the layout breaks it: its widths are the typeface's
 * without kerning and ligatures, so none is used. Lines beyond the card are left out.
 */
export const Sheet = ({ hand, layout: { lines, size } }: SheetProps) => {
  const name = laidOutIn(hand);
  const [width, height] = [panel.width + 2 * margin, panel.height + 2 * margin];
  const style = {
    'font-family': `${typefaces[name] ?? ''}, cursive`,
    'font-size': size,
    'font-kerning': 'none',
    'font-variant-ligatures': 'none',
  } as const;
  return (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      class={`sheet ${name}`}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`The message in a hand like ${hand}: ${drawable(lines.join(' '))}`}
    >
      <rect class="paper" width={width} height={height} fill="#fffdf6" />
      <g fill="#22304f" {...style}>
        {lines.slice(0, roomAt(size)).map((line, at) => (
          <text x={margin} y={margin + (at + 0.75) * size * lineHeight} xml:space="preserve">
            {drawable(line)}
          </text>
        ))}
      </g>
    </svg>
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

/** Reasons why a message can't be written as it is, in words. */
const Doubts = ({ layout: { lines, fits, unknown } }: Pick<SheetProps, 'layout'>) => (
  <>
    {fits ? null : (
      <p class="note warning">
        The message takes {lines.length} lines in this hand; the card has room for {maxLines}.
      </p>
    )}
    {unknown.length === 0 ? null : (
      <p class="quiet small">Not drawn here, though it may be written: {unknown.join(' ')}</p>
    )}
  </>
);

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
