import { expect } from 'chai';
import { sqliteDeliveries } from '../../../adapters/sqlite/records/deliveries.js';
import { pageQuery } from '../../../adapters/sqlite/records/delivery-pages.js';
import type { DeliveryFilter } from '../../../application/ports/delivery-log.js';
import { OrganizationId } from '../../../domain/ids.js';
import { openNew } from './setup.js';

const org = OrganizationId.parse('org-1');

/** Which index yields the rows, by whether endpoint, status or type, and card are given. */
const indexOf = ({ endpoint, status, type, card }: DeliveryFilter): string => {
  if (card !== null) return 'deliveries_of_cards';
  if (endpoint !== null) return 'deliveries_of_endpoints';
  return status === null && type === null ? 'deliveries_of_organizations' : 'deliveries_by_kind';
};

describe('a page of the delivery log in SQLite', () => {
  it('ends by an index, whatever the filters are', async () => {
    const file = await openNew();
    try {
      sqliteDeliveries(file);
      for (const endpoint of [null, 'endpoint-1'])
        for (const status of [null, 'dropped'] as const)
          for (const type of [null, 'card.held'])
            for (const card of [null, 'HC-1']) {
              const filter = { endpoint, status, type, card };
              const { sql, parameters } = pageQuery(org, filter, 1_000, 50);
              const plan: readonly { readonly detail: string }[] = file.database
                .prepare(`explain query plan ${sql}`)
                .all(...parameters);
              const steps = plan.map(({ detail }) => detail);
              const what = JSON.stringify(filter);
              expect(
                steps.some((step) => step.includes(`INDEX ${indexOf(filter)} (`)),
                `${what}: ${steps.join('; ')}`,
              ).to.equal(true);
              expect(
                steps.filter((step) => step === 'SCAN deliveries'),
                what,
              ).to.deep.equal([]);
            }
    } finally {
      await file.close();
    }
  });
});
