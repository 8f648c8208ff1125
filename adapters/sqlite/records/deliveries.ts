import {
  DeliveriesUnavailable,
  type Deliveries,
  type RelayMemory,
} from '../../../application/ports/deliveries.js';
import type { DeliveryClaims } from '../../../application/ports/delivery-claims.js';
import type { EndpointGates } from '../../../application/ports/endpoint-gates.js';
import { explainingFailures } from '../../../application/timing/explaining-failures.js';
import type { OrganizationId, Uuid } from '../../../domain/ids.js';
import type { WebhookEndpoints } from '../../../domain/webhook-endpoints.js';
import { rowsFrom } from '../database.js';
import { NotWritten } from '../errors.js';
import { claimBook } from './claim-book.js';
import { deliveryReports, sqliteDeliveryLog, type DeliveryStore } from './delivery-log.js';
import { rowsPerStep } from './delivery-rows.js';

/** The endpoints in events.db, and in memory as the claims need them. */
const endpointGates = ({ writer, database, book, reports }: DeliveryStore): EndpointGates => {
  const all = database.prepare(
    "select endpoint from delivery_targets where endpoint > ? and state <> 'closed' order by endpoint limit ?",
  );
  const inactive = database.prepare(
    "select endpoint from delivery_targets where endpoint > ? and state in ('off', 'tripped') order by endpoint limit ?",
  );
  const resetFailures = 'update delivery_targets set consecutive = 0 where endpoint = ?';
  return {
    upsertEndpoint: async (endpoint, now) => {
      const { dropped } = await writer.run('upsertEndpoint', { ...endpoint, now }, ({ endpoint: row }) =>
        book.setEndpoint(row),
      );
      reports.changed(dropped);
    },
    addresses: async (endpoints) =>
      new Map(
        endpoints.flatMap((id) => {
          const known = book.endpoint(id);
          return known === null ? [] : [[id, { org: known.org, url: known.url }]];
        }),
      ),
    resetFailures: async (endpoint) => {
      await writer.run('write', [[resetFailures, endpoint]], () => book.resetFailures(endpoint));
    },
    deleteEndpoint: async (org, endpoint, reason, now) => {
      book.deleteEndpoint(org, endpoint);
      const dropped = await writer.run('deleteEndpoint', { org, endpoint, reason, now }, () =>
        book.forget(endpoint),
      );
      reports.changed(dropped);
    },
    tripped: async () => book.allTripped(),
    health: async (org) => book.health(org),
    watched: async (inactiveOnly, { startingAfter, limit }) => {
      const statement = inactiveOnly ? inactive : all;
      const rows = rowsFrom<{ readonly endpoint: Uuid }>(statement, startingAfter ?? '', limit);
      return rows.flatMap(({ endpoint }) => book.watched(endpoint) ?? []);
    },
  };
};

/** Claims in memory; the attempts made under them in events.db. */
const deliveryClaims = ({ writer, book, reports }: DeliveryStore): DeliveryClaims => {
  const hasten = `
    update deliveries set due = ? where seq in (
      select seq from delivery_targets t cross join deliveries d indexed by deliveries_waiting
      where d.endpoint = t.endpoint and d.status = 'pending' and d.due > ? limit ?)`;
  return {
    dueTimes: () => book.dueTimes(),
    hasten: async (clock, within) => {
      const step = (now = clock.now()) => writer.write([hasten, now, now + within, rowsPerStep]);
      while ((await step()) === rowsPerStep);
    },
    claim: async (limits, now) =>
      new Map([...limits].map(([endpoint, limit]) => [endpoint, book.claim(endpoint, now, limit)])),
    mayStart: (claim) => book.mayStart(claim),
    release: async (claim) => {
      if (book.holds(claim)) book.remove(claim);
    },
    record: async (claim, attempt, outcome, disableAfter) => {
      if (!book.holds(claim)) return { recorded: false, tripped: null };
      const { delivery, number } = claim;
      const { endpoint, enabledAt } = claim.endpoint;
      const input = { delivery, endpoint, number, enabledAt, attempt, outcome, disableAfter };
      const recorded = await writer.run('recordAttempt', input, (row) => {
        book.remove(claim);
        book.setEndpoint(row);
      });
      if (recorded === null) return { recorded: false, tripped: null };
      reports.publish('attempted', [delivery]);
      const tripped = recorded.state === 'tripped' ? book.tripped(endpoint) : null;
      return { recorded: true, tripped };
    },
  };
};

interface RelayedRow {
  readonly org: OrganizationId;
  readonly position: number;
  readonly endpoints: string;
}

const relayMemory = ({ writer, database }: DeliveryStore): RelayMemory => {
  const select = database.prepare('select org, position, endpoints from relayed_endpoints');
  const remember = `
    insert into relayed_endpoints (org, position, endpoints) values (?, ?, ?)
    on conflict (org) do update set position = excluded.position, endpoints = excluded.endpoints where position < excluded.position`;
  return {
    rememberEndpoints: async (org, position, endpoints) =>
      void (await writer.write([remember, org, Number(position), JSON.stringify(endpoints)])),
    rememberedEndpoints: async () =>
      new Map(
        rowsFrom<RelayedRow>(select).map(({ org, position, endpoints }) => {
          const state: WebhookEndpoints = JSON.parse(endpoints);
          return [org, { position: BigInt(position), state }];
        }),
      ),
  };
};

/** A port whose writes throw DeliveriesUnavailable if nothing was written. */
const guarded = <Port extends object>(port: Port): Port =>
  explainingFailures(port, (error) =>
    error instanceof NotWritten
      ? new DeliveriesUnavailable(`Nothing was written: ${error.message}`, { cause: error })
      : error,
  );

/** Deliveries in events.db. Writes share the commits of the log; reads run on the calling thread. */
export const sqliteDeliveries = ({
  writer,
  database,
}: Pick<DeliveryStore, 'writer' | 'database'>): Deliveries => {
  const store = { writer, database, book: claimBook(database), reports: deliveryReports(database) };
  return {
    log: guarded(sqliteDeliveryLog(store)),
    gates: guarded(endpointGates(store)),
    claims: guarded(deliveryClaims(store)),
    relayMemory: guarded(relayMemory(store)),
  };
};
