import { expect } from 'chai';
import { OrganizationId } from '../../domain/ids.js';
import { orderPurchase, purchase, purchaseIdOf, type PurchaseEvent } from '../../domain/purchase.js';
import { given } from '../support/fixtures/scenario.js';

const org = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001');
const other = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000002');
const order = { org, reference: 'invoice 1', amount: 5, reason: null, ledgerRevision: 3 };
const ordered: PurchaseEvent = { type: 'PurchaseOrdered', data: order };

describe('a purchase under a reference', () => {
  it('is ordered once; a repeat with the same amount records nothing, whatever else it says', () => {
    given(purchase).when(orderPurchase(order)).records(ordered);
    given(purchase, ordered)
      .when(orderPurchase({ ...order, reason: 'again', ledgerRevision: 9 }))
      .recordsNothing();
  });
  it('refuses another amount', () =>
    given(purchase, ordered)
      .when(orderPurchase({ ...order, amount: 6 }))
      .refuses('invalid_transition'));
  it('is what was ordered first', () =>
    expect(given(purchase, ordered, { ...ordered, data: { ...order, amount: 9 } }).state).to.deep.equal(
      order,
    ));
  it('has an id of its own for each organization and reference', () => {
    const ids = [
      purchaseIdOf(org, 'a'),
      purchaseIdOf(org, 'b'),
      purchaseIdOf(other, 'a'),
      purchaseIdOf(org, 'A'),
    ];
    expect(new Set(ids).size).to.equal(4);
    expect(purchaseIdOf(org, 'a')).to.equal(ids[0]);
  });
});
