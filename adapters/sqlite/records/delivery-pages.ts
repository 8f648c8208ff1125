import { deliveryStatuses, type DeliveryFilter } from '../../../application/ports/delivery-log.js';
import type { OrganizationId } from '../../../domain/ids.js';
import { publicEventTypes } from '../../../domain/public-events.js';

/**
 * A page of an organization's deliveries before the row `before`, newest first. Every combination of filters
 * ends by an index: where status or type is open, the first rows of each are read and the newest of them
 * taken.
 */
export const pageQuery = (org: OrganizationId, filter: DeliveryFilter, before: number, limit: number) => {
  const { endpoint, status, type, card } = filter;
  if (card !== null || (endpoint === null && status === null && type === null)) {
    const all = { card, '+endpoint': endpoint, '+status': status, '+type': type };
    const wanted = Object.entries(all).flatMap(([column, value]) =>
      value === null ? [] : [{ column, value }],
    );
    // A card has few deliveries, whatever else is asked for.
    const of = card === null ? 'org' : '+org';
    return {
      sql: `select * from deliveries where ${of} = ? and seq < ?${wanted.map(({ column }) => ` and ${column} = ?`).join('')} order by seq desc limit ?`,
      parameters: [org, before, ...wanted.map(({ value }) => value), limit],
    };
  }
  const [owner, owned] = endpoint === null ? ['org', org] : ['endpoint', endpoint];
  const kinds = (status === null ? deliveryStatuses : [status]).flatMap((wantedStatus) =>
    (type === null ? publicEventTypes : [type]).map((wantedType) => [wantedStatus, wantedType] as const),
  );
  const first = `select * from (select seq from deliveries where ${owner} = ? and status = ? and type = ? and seq < ? order by seq desc limit ?)`;
  return {
    sql: `select * from deliveries where seq in (${kinds.map(() => first).join(' union all ')}) and +org = ? order by seq desc limit ?`,
    parameters: [...kinds.flatMap((kind) => [owned, ...kind, before, limit]), org, limit],
  };
};
