import fc from 'fast-check';

/** A call of a port and, in words, what is asked. */
export interface Operation<Subject> {
  readonly says: string;
  readonly run: (subject: Subject) => Promise<unknown>;
}

/** A port in random use. A subject is made anew for each run. */
export interface Port<Subject> {
  readonly name: string;
  readonly operation: fc.Arbitrary<Operation<Subject>>;
  /** The most operations of a run. */
  readonly longest?: number;
}

/** An adapter, empty. */
export interface Made<Subject> {
  readonly subject: Subject;
  readonly close: () => Promise<void>;
}

/** Makes the kinds of operations on a port, each with what it draws. */
export const drawing =
  <Subject>() =>
  <Given>(
    name: string,
    given: fc.Arbitrary<Given>,
    run: (subject: Subject, given: Given) => Promise<unknown>,
  ): fc.Arbitrary<Operation<Subject>> =>
    given.map((value) => ({
      says: `${name}(${fc.stringify(value)})`,
      run: (subject) => run(subject, value),
      [fc.toStringMethod]: () => `${name}(${fc.stringify(value)})`,
    }));

const plain = (_: string, value: unknown): unknown => {
  if (typeof value === 'bigint') return `${value}n`;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (value instanceof Map) return [...value].map(([key, of]) => JSON.stringify([key, of], plain)).toSorted();
  if (value instanceof Set) return [...value].map((each) => JSON.stringify(each, plain)).toSorted();
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return value;
};

const answerOf = async <Subject>({ run }: Operation<Subject>, subject: Subject): Promise<string> => {
  try {
    return JSON.stringify((await run(subject)) ?? null, plain);
  } catch (error) {
    return `throws ${error instanceof Error ? error.name : String(error)}`;
  }
};

/** How many runs each test makes: more with `DIFFERENTIAL_RUNS=1000 npm test -- test/differential`. */
export const runs = Number(process.env['DIFFERENTIAL_RUNS'] ?? 3);
const usuallyLongest = 80;

/**
 * Does the same random operations on both, and compares their answers one by one. Throws with the seed and
 * the fewest operations that make a difference. Returns how many operations were compared.
 */
export const compare = async <Subject>(
  { operation, longest = usuallyLongest }: Port<Subject>,
  makeReference: () => Promise<Made<Subject>>,
  makeAdapter: () => Promise<Made<Subject>>,
): Promise<number> => {
  let compared = 0;
  const property = fc.asyncProperty(
    fc.array(operation, { minLength: 1, maxLength: longest, size: 'max' }),
    async (operations) => {
      const [reference, adapter] = [await makeReference(), await makeAdapter()];
      try {
        for (const each of operations) {
          const wanted = await answerOf(each, reference.subject);
          const got = await answerOf(each, adapter.subject);
          compared += 1;
          if (wanted !== got) throw new Error(`${each.says}\n  in memory: ${wanted}\n  here:      ${got}`);
        }
      } finally {
        await reference.close();
        await adapter.close();
      }
    },
  );
  const [seed] = (process.env['DIFFERENTIAL_SEED'] ?? '')
    .split(',')
    .filter((text) => text !== '')
    .map(Number);
  await fc.assert(property, { numRuns: runs, ...(seed !== undefined && { seed }) });
  return compared;
};
