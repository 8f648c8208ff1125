import type { RelayedEndpoints } from '../../../application/ports/deliveries.js';
import { OrganizationId } from '../../../domain/ids.js';
import type { WebhookEndpoints } from '../../../domain/webhook-endpoints.js';
import type { MongoDatabase } from '../client/database.js';
import { isInserted } from '../client/refusals.js';

interface RelayedRow {
  readonly _id: string;
  readonly position: bigint;
  /** JSON. */
  readonly endpoints: string;
}

const relayedRows = (database: MongoDatabase) => database.collection<RelayedRow>('relayed_endpoints');

/**
 * Stores the relay's state of an organization's endpoints after the event at a position. Changes nothing if
 * the stored one is as new or newer.
 */
export const rememberEndpoints = async (
  database: MongoDatabase,
  org: OrganizationId,
  position: bigint,
  endpoints: WebhookEndpoints,
): Promise<void> => {
  const relayed = relayedRows(database);
  const row = { position, endpoints: JSON.stringify(endpoints) };
  const advance = () =>
    relayed.updateOne({ _id: { $eq: org as string }, position: { $lt: position } }, { $set: row });
  if ((await advance()).matchedCount === 1) return;
  if (!(await isInserted(relayed.insertOne({ _id: org, ...row })))) await advance();
};

export const rememberedEndpoints = async (
  database: MongoDatabase,
): Promise<ReadonlyMap<OrganizationId, RelayedEndpoints>> => {
  const rows = await relayedRows(database).find().toArray();
  return new Map(
    rows.map(({ _id, position, endpoints }) => {
      const state: WebhookEndpoints = JSON.parse(endpoints);
      return [OrganizationId.parse(_id), { position: BigInt(position), state }];
    }),
  );
};
