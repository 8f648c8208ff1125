import { streamName, type OrganizationId } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';
import { documentAt, type Moment, type Past } from './as-of.js';
import { limitConcurrency } from '../timing/limit-concurrency.js';
import type { EventStore } from '../ports/event-store.js';
import { pagesOf, type ReadModels } from '../ports/read-models.js';

const pageSize = 200;
const atOnce = 16;

/**
 * A page of an organization's things at a moment, newest first. The read model knows the streams, and the
 * streams know the past. `before`: the end of the previous page. Throws DamagedStream, ReadModelsUnavailable,
 * EventStoreUnavailable.
 */
export const listAt = async <Document>(
  { store, readModels }: { readonly store: EventStore; readonly readModels: ReadModels },
  projection: Projection<Document>,
  isListed: (document: Document) => boolean,
  org: OrganizationId,
  moment: Moment,
  { limit, before }: { readonly limit: number; readonly before: bigint | undefined },
): Promise<readonly Past<Document>[]> => {
  const limited = limitConcurrency(atOnce);
  const found: Past<Document>[] = [];
  const query = { org, limit: pageSize, before };
  for await (const rows of pagesOf(readModels, projection, query, async () => undefined)) {
    const pasts = await Promise.all(
      rows.map(({ key }) =>
        limited(() => documentAt(store, projection, streamName(projection.category, key), moment)),
      ),
    );
    found.push(...pasts.filter((past) => past !== null).filter(({ was }) => isListed(was)));
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
};
