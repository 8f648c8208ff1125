/** A media type that a client accepts, and how much it likes it, from 0 to 1. */
const rangesIn = (accept: readonly string[]): ReadonlyMap<string, number> =>
  new Map(
    accept
      .join(',')
      .split(',')
      .map((range) => {
        const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
        const quality = parameters.find((parameter) => parameter.startsWith('q='));
        return [type, quality === undefined ? 1 : Number(quality.slice(2)) || 0] as const;
      }),
  );

/**
 * The type that a client likes best, by its header Accept, of those that it names; the first of them if it
 * names none of them.
 */
export const preferredType = <Type extends string>(
  accept: readonly string[],
  types: readonly [Type, ...Type[]],
): Type => {
  const ranges = rangesIn(accept);
  let best: Type = types[0];
  let liked = ranges.get(best) ?? 0;
  for (const type of types) {
    const quality = ranges.get(type) ?? 0;
    if (quality > liked) [best, liked] = [type, quality];
  }
  return best;
};
