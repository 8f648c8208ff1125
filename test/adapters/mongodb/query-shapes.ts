import type { Document } from 'mongodb';

/** What a command asks of a collection: the fields that its filter fixes, those that it bounds, its order. */
export interface QueryShape {
  readonly collection: string;
  readonly equal: readonly string[];
  readonly bounded: readonly string[];
  readonly sort: readonly string[];
}

const isDocument = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** `$in` fixes a field, too: each of its values is looked up. */
const fixes = (condition: unknown): boolean =>
  !isDocument(condition) ||
  Object.keys(condition).every((key) => !key.startsWith('$') || key === '$eq' || key === '$in');

const merged = (parts: readonly Document[]): Document => Object.assign({}, ...parts);

const shapesOf = (collection: string, filter: Document, sort: readonly string[]): readonly QueryShape[] => {
  const { $and: parts, $or: branches, ...fields } = filter;
  if (Array.isArray(parts))
    return shapesOf(collection, { ...fields, ...(branches && { $or: branches }), ...merged(parts) }, sort);
  if (Array.isArray(branches))
    return branches.flatMap((branch: Document) => shapesOf(collection, { ...fields, ...branch }, sort));
  const names = Object.keys(fields).toSorted();
  return [
    {
      collection,
      equal: names.filter((name) => fixes(fields[name])),
      bounded: names.filter((name) => !fixes(fields[name])),
      sort,
    },
  ];
};

const filtersOf = (body: Document, batch: readonly Document[]): readonly Document[] => {
  const [command = ''] = Object.keys(body);
  switch (command) {
    case 'find':
      return [body['filter'] ?? {}];
    case 'count':
      // Without a query, the server knows the answer.
      return body['query'] === undefined ? [] : [body['query']];
    case 'findAndModify':
    case 'distinct':
      return [body['query'] ?? {}];
    case 'aggregate': {
      const [stage]: readonly Document[] = body['pipeline'];
      return [stage?.['$match'] ?? {}];
    }
    case 'update':
    case 'delete':
      return [...batch, ...(body['updates'] ?? []), ...(body['deletes'] ?? [])].map(
        ({ q }: Document): Document => q,
      );
    default:
      return [];
  }
};

/** The shapes of the queries that a command makes. */
export const queriesOf = (body: Document, batch: readonly Document[]): readonly QueryShape[] => {
  const collection = String(Object.values(body)[0]);
  const sort = Object.keys(body['sort'] ?? {});
  return filtersOf(body, batch).flatMap((filter) => shapesOf(collection, filter, sort));
};

/** The fields of an index, in order. */
export type Index = readonly string[];

/**
 * Whether the server finds what is asked for in one stretch of the index: fixed fields first, then the order
 * or one bounded field. Nothing that it reads there is thrown away.
 */
const ends = ({ equal, bounded, sort }: QueryShape, index: Index): boolean => {
  if (equal.length + bounded.length + sort.length === 0) return false;
  const fixed = index.findIndex((field) => !equal.includes(field));
  const prefix = fixed === -1 ? index : index.slice(0, fixed);
  const rest = fixed === -1 ? [] : index.slice(fixed);
  const order = sort.filter((field) => !prefix.includes(field));
  const isOrdered = order.every((field, at) => rest[at] === field);
  const isBounded = bounded.every((field) =>
    order.length === 0
      ? bounded.length === 1 && rest[0] === field
      : rest.slice(0, order.length).includes(field),
  );
  return equal.every((field) => prefix.includes(field)) && isOrdered && isBounded;
};

/** Whether a query ends by `_id`, or by all of an index that it uses. */
export const endsByIndex = (query: QueryShape, indexes: readonly Index[]): boolean =>
  query.equal.includes('_id') || ends(query, ['_id']) || indexes.some((index) => ends(query, index));

export const nameOf = ({ collection, equal, bounded, sort }: QueryShape): string =>
  [
    `${collection}: ${equal.join(', ')}`,
    ...(bounded.length === 0 ? [] : [`within ${bounded.join(', ')}`]),
    ...(sort.length === 0 ? [] : [`by ${sort.join(', ')}`]),
  ].join('; ');
