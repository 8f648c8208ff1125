/** How many documents go into one request at most. */
export const batchSize = 500;

/** The items in chunks, one per request. */
export const chunks = <T>(items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / batchSize) }, (_, index) =>
    items.slice(index * batchSize, (index + 1) * batchSize),
  );
