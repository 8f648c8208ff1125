import { expect } from 'chai';
import { ledgerStream } from '../../domain/credits.js';
import type { RecordedEvent } from '../../domain/events.js';
import { derivedUuid, Instant, OrganizationId, streamName, type StreamName } from '../../domain/ids.js';
import type { Reconciliation } from '../../domain/reconciliation.js';
import { reconcile } from '../support/fixtures/books.js';

const org = OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001');
const command = '6c0f6a3e-0000-4000-8000-000000000002';
const code = 'HC-7K3M9QX';
const at = (second: number) => Instant.parse(new Date(Date.UTC(2026, 2, 1, 12, 0, second)).toISOString());

/** Events in the order of the log, a second apart, each by the same command unless it says otherwise. */
const logOf = (...events: readonly (readonly [StreamName, string, object, string?])[]): RecordedEvent[] => {
  const revisions = new Map<StreamName, number>();
  return events.map(([stream, type, data, by = command], index) => {
    const revision = (revisions.get(stream) ?? -1) + 1;
    revisions.set(stream, revision);
    return {
      id: derivedUuid(stream, revision),
      stream,
      revision,
      position: BigInt(index + 1),
      type,
      data,
      metadata: {
        org,
        actor: { kind: 'operator', id: null },
        requestId: null,
        correlationId: by,
        causationId: by,
        schemaVersion: 1,
        occurredAt: at(index),
        subject: null,
        keyId: null,
        chain: 2 as const,
        personal: null,
        hash: '',
      },
    };
  });
};

const ledger = ledgerStream(org);
const card = streamName('card', code);
const slot = { card: code, revision: 0, command };
const bought = (amount: number, balance: number) =>
  [ledger, 'CreditsPurchased', { cause: command, amount, reason: null, balance }] as const;
const spent = (balance: number) => [ledger, 'CreditSpent', { cause: slot, amount: 1, balance }] as const;
const returned = (cause: object, balance: number, amount = 1) =>
  [ledger, 'CreditReturned', { cause, amount, balance }] as const;
const owed = { owed: { card: code, revision: 1 } };
const abandoned = [card, 'CardAbandoned', { command: 'c' }, 'the reconciler'] as const;
const cancelled = [card, 'CardCancelled', { owes: 1 }] as const;
/** The event that fills the slot; what it says of the letter is none of the books' business. */
const released = [card, 'CardReleased', {}] as const;

const books = (events: RecordedEvent[], until = at(3_600)): Reconciliation =>
  reconcile(events, { after: -1, until, mayBeOpenFor: 75_000 });
const codesIn = ({ findings }: Reconciliation) => findings.map(({ code: found }) => found);
const kindsIn = ({ open }: Reconciliation) => open.map(({ kind, subject }) => [kind, subject]);

describe('the reconciliation of an organization', () => {
  it('adds up what was bought, withdrawn, spent and returned', () => {
    const shown = books(
      logOf(
        bought(10, 10),
        [ledger, 'CreditsWithdrawn', { cause: command, amount: 2, reason: 'refund', balance: 8 }],
        spent(7),
        released,
        cancelled,
        returned(owed, 8),
      ),
    );
    const { purchases, withdrawals, ...sums } = shown;
    expect(sums).to.deep.equal({
      opening: 0,
      purchased: 10,
      withdrawn: 2,
      spent: 1,
      returned: 1,
      closing: 8,
      cards: { paid: 1, cancelled: 1, failed: 0, held: 0, void: 0 },
      open: [],
      findings: [],
    });
    const actor = { kind: 'operator', id: null };
    expect([...purchases, ...withdrawals]).to.deep.equal([
      { position: 1n, at: at(0), amount: 10, reference: null, reason: null, actor },
      { position: 2n, at: at(1), amount: 2, reference: null, reason: 'refund', actor },
    ]);
  });

  it('begins a period with the balance that the one before it left', () => {
    const log = logOf(bought(10, 10), spent(9), released, cancelled, returned(owed, 10));
    const {
      opening,
      purchased,
      spent: paid,
      returned: back,
      closing,
      cards,
    } = reconcile(log, {
      after: 1,
      until: at(60),
      mayBeOpenFor: 75_000,
    });
    expect([opening, purchased, paid, back, closing]).to.deep.equal([9, 0, 0, 1, 10]);
    expect(cards).to.deep.equal({ paid: 0, cancelled: 1, failed: 0, held: 0, void: 0 });
  });

  it('leaves open what is under way, and finds what is open for too long', () => {
    const log = logOf(bought(10, 10), spent(9));
    const early = books(log, at(76));
    expect([kindsIn(early), codesIn(early)]).to.deep.equal([[['spend', `${code}@0/${command}`]], []]);
    expect(codesIn(books(log, at(77)))).to.deep.equal(['overdue']);
  });

  it('takes a spend whose slot something else filled for void, and wants it back', () => {
    const log = logOf(bought(10, 10), spent(9), abandoned);
    expect(kindsIn(books(log))).to.deep.equal([['spend', `${code}@0/${command}`]]);
    const settled = books(logOf(bought(10, 10), spent(9), abandoned, returned({ void: slot }, 10)));
    expect([kindsIn(settled), codesIn(settled), settled.cards.void]).to.deep.equal([[], [], 1]);
  });

  it('finds a debt that did not come back, and a return that nothing owes', () => {
    const debt = books(logOf(bought(10, 10), spent(9), released, cancelled));
    expect([kindsIn(debt), codesIn(debt)]).to.deep.equal([[['debt', `${code}@1`]], ['overdue']]);
    const gift = books(logOf(bought(10, 10), spent(9), released, returned(owed, 10)));
    expect([kindsIn(gift), codesIn(gift)]).to.deep.equal([[['movement', `${code}@1`]], ['overdue']]);
  });

  it('finds a balance that is not the sum, a cause that moved twice, another amount than was due', () => {
    expect(codesIn(books(logOf(bought(10, 1_000_010))))).to.deep.equal(['wrong_balance']);
    expect(codesIn(books(logOf(bought(10, 10), bought(10, 20))))).to.deep.equal(['cause_moved_twice']);
    const more = logOf(bought(10, 10), spent(9), released, cancelled, returned(owed, 11, 2));
    expect(codesIn(books(more))).to.deep.equal(['wrong_amount']);
  });

  it('finds the credit of a card that was made and came back as void', () => {
    const log = logOf(bought(10, 10), spent(9), released, returned({ void: slot }, 10));
    expect(codesIn(books(log))).to.deep.equal(['paid_card_returned']);
  });

  it('wants the credits of an order, in its amount', () => {
    const id = derivedUuid('purchase', org, 'invoice 1');
    const order = [
      streamName('purchase', id),
      'PurchaseOrdered',
      { org, reference: 'invoice 1', amount: 5, reason: null, ledgerRevision: -1 },
    ] as const;
    const came = (amount: number) =>
      [ledger, 'CreditsPurchased', { cause: id, amount, reason: null, balance: amount }] as const;
    expect(kindsIn(books(logOf(order)))).to.deep.equal([['purchase', id]]);
    expect(kindsIn(books(logOf(came(5))))).to.deep.equal([['movement', id]]);
    expect(codesIn(books(logOf(order, came(6))))).to.deep.equal(['wrong_amount']);
    const right = books(logOf(order, came(5)));
    expect([kindsIn(right), codesIn(right), right.purchases[0]?.reference]).to.deep.equal([
      [],
      [],
      'invoice 1',
    ]);
  });
});
