import { streamName, type Category, type OrganizationId } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';
import { documentAt, type Moment, type Past } from './as-of.js';
import { limitConcurrency } from '../timing/limit-concurrency.js';
import type { EventStore } from '../ports/event-store.js';
import type { ReadModels } from '../ports/read-models.js';

const pageSize = 200;
const atOnce = 16;

/**
 * A page of an organization's things at a moment, newest first. The read model knows the streams, and the
 * streams know the past. `before`: the end of the previous page. Throws DamagedStream, ReadModelsUnavailable,
 * EventStoreUnavailable.
 */
export const listAt = async <Document>(
  { store, readModels }: { readonly store: EventStore; readonly readModels: ReadModels },
  {
    projection,
    category,
    isListed,
  }: {
    readonly projection: Projection<Document>;
    readonly category: Category;
    readonly isListed: (document: Document) => boolean;
  },
  org: OrganizationId,
  moment: Moment,
  { limit, before: begin }: { readonly limit: number; readonly before: bigint | null },
): Promise<readonly Past<Document>[]> => {
  const limited = limitConcurrency(atOnce);
  const found: Past<Document>[] = [];
  let before = begin;
  while (found.length < limit) {
    const rows = await readModels.page(projection, {
      org,
      limit: pageSize,
      ...(before !== null && { before }),
    });
    const pasts = await Promise.all(
      rows.map(({ key }) => limited(() => documentAt(store, projection, streamName(category, key), moment))),
    );
    found.push(
      ...pasts.filter((past) => past !== null && isListed(past.was)).filter((past) => past !== null),
    );
    const last = rows.at(-1);
    if (rows.length < pageSize || last === undefined) break;
    before = last.created;
  }
  return found.slice(0, limit);
};
