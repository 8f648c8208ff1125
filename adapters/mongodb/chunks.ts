/** So many documents go into one request. */
export const together = 500;

/** The items in lots of one request each. */
export const chunks = <T>(items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / together) }, (_, index) => items.slice(index * together, (index + 1) * together));
