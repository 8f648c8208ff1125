import type { Front } from '../../../domain/artwork.js';
import { pathOfPicture } from './pictures.js';
import { useVisit } from './visit.js';

export interface CoverProps {
  readonly title: string;
  readonly artwork: Front | null;
  readonly size?: 'thumbnail' | 'preview';
  /** The title stands in the same label. */
  readonly isNamed?: boolean;
  readonly isErased?: boolean;
}

/** The front of a card; its title on blank paper, in place of a picture. */
export const Cover = ({
  title,
  artwork,
  size = 'thumbnail',
  isNamed = false,
  isErased = false,
}: CoverProps) => {
  const { url } = useVisit();
  if (artwork === null) {
    const none = isErased ? 'Picture erased' : 'No picture yet';
    const label = { role: 'img', 'aria-label': `${title}: ${none.toLowerCase()}` } as const;
    return (
      <span class="cover blank" {...(isNamed ? { 'aria-hidden': true } : label)}>
        <span class="elegant">{title}</span>
        <small>{none}</small>
      </span>
    );
  }
  return (
    <img
      class="cover"
      src={url(pathOfPicture(artwork, size))}
      alt={isNamed ? '' : `${title}: its picture`}
      width="240"
      height="336"
      loading="lazy"
    />
  );
};
