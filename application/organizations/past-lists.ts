import { streamName, type OrganizationId } from '../../domain/ids.js';
import type { Projection } from '../../projections/projection.js';
import { documentAt, type Moment, type Past } from '../history/as-of.js';
import { pagesOf, type Page, type ReadModels } from '../ports/read-models.js';
import { rowAt } from '../requests/invalid-cursor.js';
import { mapLimited } from '../timing/limit-concurrency.js';
import { turnAlone } from '../timing/next-turn.js';
import type { WriteDeps } from '../writing/execute.js';
import { organizationAt } from './administer.js';

interface PastList<Document> {
  readonly org: OrganizationId;
  readonly moment: Moment;
  /** The entries, as the refusal of a cursor calls them. */
  readonly what: string;
  readonly isListed?: (document: Document) => boolean;
}

const pageSize = 200;
const atOnce = 16;

/**
 * A page of an organization's things at a moment, newest first. The read model knows the streams, and the
 * streams know the past. Throws `not_found` if the organization was not there yet, `invalid_cursor`,
 * DamagedStream, ReadModelsUnavailable, EventStoreUnavailable.
 */
export const listAt = async <Document extends { readonly org: string }>(
  deps: Pick<WriteDeps, 'store' | 'streams'> & { readonly readModels: ReadModels },
  projection: Projection<Document>,
  { limit, startingAfter }: Page,
  { org, moment, what, isListed = () => true }: PastList<Document>,
): Promise<readonly Past<Document>[]> => {
  const { store, readModels } = deps;
  await organizationAt(deps, org, moment);
  const last = await rowAt(readModels, projection, startingAfter, what, (row) => row.org === org);
  const found: Past<Document>[] = [];
  const query = { org, limit: pageSize, before: last?.created };
  const wasThere = ({ created }: { readonly created: bigint }): boolean =>
    moment.position === null || created <= moment.position;
  for await (const rows of pagesOf(readModels, projection, query, turnAlone)) {
    const pasts = await mapLimited(atOnce, rows.filter(wasThere), async ({ key }) => {
      await turnAlone();
      return documentAt(store, projection, streamName(projection.category, key), moment);
    });
    found.push(...pasts.filter((past) => past !== null).filter(({ was }) => isListed(was)));
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
};
