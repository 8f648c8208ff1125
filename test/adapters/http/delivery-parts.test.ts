import { expect } from 'chai';
import { h } from 'preact';
import { render } from 'preact-render-to-string';
import { DeliveriesTable } from '../../../adapters/http/console/delivery-parts.js';
import { WithVisit } from '../../../adapters/http/web/visit.js';
import { visitIn } from '../../support/http/visit.js';
import { attemptsKept, type Delivery, type DeliveryId } from '../../../application/ports/delivery-log.js';
import { OrganizationId, Uuid } from '../../../domain/ids.js';

describe('a delivery in the console', () => {
  it('counts all its attempts, of which the last fifty are kept', () => {
    const org = OrganizationId.parse('org-1');
    const made = attemptsKept + 3;
    const attempt = { at: 1_000, httpStatus: 503, error: null, duration: 5, body: null };
    const retried: Delivery = {
      id: 'dlv_1' as DeliveryId,
      org,
      endpoint: Uuid.parse('endpoint-1'),
      event: 'evt_1',
      type: 'card.created',
      card: 'HC-7K3M9QX',
      position: 1n,
      occurredAt: 1_000,
      body: '{}',
      status: 'exhausted',
      attempts: Array.from({ length: attemptsKept }, () => attempt),
      made,
      allowed: made,
      due: null,
      expires: 2_000,
      dropReason: null,
    };
    const table = h(DeliveriesTable, {
      deliveries: [retried],
      endpoints: new Map(),
      org,
      mayRetry: false,
    });
    expect(render(h(WithVisit, { value: visitIn('UTC') }, table))).to.include(`${made} of ${made}: 503`);
  });
});
