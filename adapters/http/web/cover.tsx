import { createHash } from 'node:crypto';
import type { Front } from '../../../domain/artwork.js';
import { pathOfPicture } from './pictures.js';
import type { Url } from './url.js';

/** Words in lines of a few letters each, as many as a cover has room for. */
const linesOf = (title: string): readonly string[] => {
  const lines: string[] = [];
  for (const word of title.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 14) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word.length > 16 ? `${word.slice(0, 15)}…` : word);
  }
  return lines.slice(0, 4);
};

export interface CoverProps {
  readonly title: string;
  /** Decides the colour, where there is no picture. */
  readonly name: string;
  readonly artwork: Front | null;
  readonly url: (path: string) => Url;
  readonly size?: 'thumbnail' | 'preview';
  /** The title stands in the same label. */
  readonly isNamed?: boolean;
}

/** The front of a card. */
export const Cover = ({ title, name, artwork, url, size = 'thumbnail', isNamed = false }: CoverProps) =>
  artwork === null ? (
    <Title title={title} name={name} isNamed={isNamed} />
  ) : (
    <img
      class="cover"
      src={url(pathOfPicture(artwork, size))}
      alt={isNamed ? '' : `${title}: its picture`}
      width="240"
      height="336"
      loading="lazy"
    />
  );

/** The title on a colour of its own, in place of a picture. */
const Title = ({ title, name, isNamed }: Pick<CoverProps, 'title' | 'name' | 'isNamed'>) => {
  const about = isNamed
    ? ({ 'aria-hidden': true } as const)
    : ({ role: 'img', 'aria-label': `${title}: no picture yet` } as const);
  const [first = 0, second = 0] = createHash('sha256').update(name).digest();
  const hue = Math.round((first / 255) * 360);
  const lines = linesOf(title);
  const top = 126 - ((lines.length - 1) * 24) / 2;
  return (
    <svg class="cover" viewBox="0 0 180 252" {...about}>
      <rect width="180" height="252" fill={`hsl(${hue} 45% 90%)`} />
      <circle cx={40 + (second % 100)} cy="40" r="64" fill={`hsl(${(hue + 40) % 360} 55% 84%)`} />
      <circle cx={150 - (second % 80)} cy="226" r="52" fill={`hsl(${(hue + 300) % 360} 50% 82%)`} />
      <g fill={`hsl(${hue} 45% 22%)`} text-anchor="middle">
        {lines.map((line, at) => (
          <text class="elegant" x="90" y={top + at * 24} font-size="22">
            {line}
          </text>
        ))}
        <text x="90" y="240" font-size="8">
          No picture yet
        </text>
      </g>
    </svg>
  );
};
