import { answerTtl } from '../../application/ports/idempotency-store.js';
import type { Milliseconds } from '../../domain/ids.js';

/** A record as MongoDB has it, and as events.db has it. */
export type Fields = Readonly<Record<string, unknown>>;

export interface Kind {
  /** Of the table and of the collection. */
  readonly name: string;
  /** The column that is the document's id, or how that is made. */
  readonly id: string | ((row: Fields) => string);
  /** Columns with JSON, which are values in documents. */
  readonly json?: readonly string[];
  /** Fields that only documents have; undefined for those that they lack. */
  readonly document?: (row: Fields, keep: Milliseconds) => Fields;
  /** Columns that only rows have. */
  readonly row?: (document: Fields, keep: Milliseconds) => Fields;
  /** Which are carried over; all by default. `keyOf` finds the Idempotency-Key that a card was made with. */
  readonly carries?: (
    document: Fields,
    keyOf: (card: string) => Promise<unknown>,
  ) => boolean | Promise<boolean>;
  /** Fields that change on the way. */
  readonly set?: Fields;
}

const text = String as (value: unknown) => string;
const dateOf = (value: unknown): Date => new Date(Number(value));

/** All records that are carried over, besides the log's checkpoints. */
export const kinds: readonly Kind[] = [
  { name: 'erased_cards', id: 'card' },
  { name: 'key_uses', id: 'key' },
  { name: 'hook_calls', id: 'id' },
  {
    name: 'hook_uses',
    id: 'hook',
    document: ({ fires }) => ({ calls: fires, counted: [] }),
    carries: ({ lastFiredAt }) => lastFiredAt !== null,
  },
  { name: 'relayed_endpoints', id: 'org' },
  {
    name: 'checkpoints',
    id: 'name',
    json: ['event'],
    // A relay that is still rebuilding begins again; others have no more than what can be made from the log.
    carries: ({ _id: name, position, state }) =>
      name === 'relay' && Number(position) >= Number((JSON.parse(text(state)) as Fields)['rebuiltTo']),
    set: { state: JSON.stringify({ rebuiltTo: '0' }) },
  },
  {
    name: 'delivery_targets',
    id: 'endpoint',
    document: ({ lastFailure }) => ({ lastFailure: lastFailure ?? '' }),
  },
  {
    name: 'deliveries',
    id: 'id',
    json: ['attempts'],
    document: ({ status, occurredAt, endedAt, traceparent, erased }, keep) => ({
      erased: erased === 1,
      endedAt: undefined,
      traceparent: traceparent ?? undefined,
      removeAt: status === 'pending' ? null : dateOf(Number(endedAt ?? occurredAt) + keep),
      claim: null,
      claimedUntil: 0,
      revision: 0,
      change: 'made',
      changedAt: occurredAt,
    }),
    row: ({ removeAt }, keep) => ({ endedAt: removeAt instanceof Date ? removeAt.getTime() - keep : null }),
  },
  {
    name: 'idempotency_keys',
    id: ({ org, key }) => JSON.stringify([org, key]),
    document: ({ acceptedAt }) => ({
      acceptedAt: undefined,
      owner: '',
      ledgerRevision: -1,
      claimedAt: dateOf(acceptedAt).toISOString(),
      completed: true,
      until: dateOf(Number(acceptedAt) + answerTtl),
    }),
    row: ({ claimedAt }) => ({ acceptedAt: Date.parse(text(claimedAt)) }),
    // A process that has died may not have said that the card was made.
    carries: async ({ completed, code, key }, keyOf) =>
      completed === true || (await keyOf(text(code))) === key,
    set: { completed: true },
  },
  {
    name: 'sign_in_records',
    id: ({ kind, id }) => `${text(kind)} ${text(id)}`,
    json: ['data'],
    document: ({ ends }) => ({ ends: ends === null ? undefined : dateOf(ends) }),
  },
  {
    name: 'requests',
    id: 'id',
    document: ({ record }) => {
      const { subjects, ...request } = JSON.parse(text(record)) as { readonly subjects: readonly string[] };
      return { ...request, ...(subjects.length > 0 && { subjects }), id: undefined, record: undefined };
    },
    row: ({ _id: id, subjects = [], ...request }) => ({ record: { id, ...request, subjects } }),
  },
];

export function* documentsOf(
  { id, json = [], document }: Kind,
  rows: Iterable<Fields>,
  keep: Milliseconds,
): Generator<Fields> {
  for (const row of rows) {
    const named = Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        json.includes(name) ? (JSON.parse(text(value)) as unknown) : value,
      ]),
    );
    const own = typeof id === 'string' ? { [id]: undefined, _id: named[id] } : { _id: id(named) };
    yield { ...named, ...own, ...document?.(named, keep) };
  }
}

/** Fields without a column stay unused. */
export async function* rowsOf(
  { id, row }: Kind,
  documents: AsyncIterable<Fields>,
  keep: Milliseconds,
): AsyncGenerator<Fields> {
  for await (const document of documents)
    yield {
      ...document,
      ...(typeof id === 'string' && { [id]: document['_id'] }),
      ...row?.(document, keep),
    };
}
