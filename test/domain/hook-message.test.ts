import { expect } from 'chai';
import { DomainError } from '../../domain/errors.js';
import { messageFrom, piecesFrom, type TemplateSources } from '../../domain/template.js';

describe('the message of a hook with a template', () => {
  const recipient = {
    name: 'Ann Marie Lee',
    line1: '1 Main St',
    line2: null,
    city: 'Austin',
    state: 'TX',
    zip: '78701',
    country: 'US',
  };
  const context = {
    recipient,
    senderName: 'Bo & Co',
    contact: { company: 'Acme', job_title: 'CTO', years: '0' },
  };
  const message = (template: string, payload: Record<string, unknown>, more: Partial<TemplateSources> = {}) =>
    messageFrom(template, { payload, firstName: null, lastName: null, ...context, ...more });
  const incomplete = (run: () => unknown): string | null => {
    try {
      run();
    } catch (error) {
      if (error instanceof DomainError && error.code === 'template_incomplete')
        return error.message.replace(/^.*payload: (.*)\. Nothing.*$/, '$1');
      throw error;
    }
    return null;
  };

  it('fills in the derived variables, which the payload can’t override', () =>
    expect(
      message('{{full_name}}|{{first_name}}|{{sender_name}}', {
        full_name: 'x',
        first_name: 'x',
        sender_name: 'x',
        name: 'Ann Marie Lee',
      }),
    ).to.equal('Ann Marie Lee|Ann|Bo & Co'));

  it('uses the first name that was sent if the full name was joined from it', () =>
    expect(message('{{first_name}}', {}, { firstName: 'Ann Marie' })).to.equal('Ann Marie'));

  it('is shown in pieces, as much of it as could ever be sent, with all that has no value', () => {
    const sources = { payload: { a: 'x'.repeat(1_000) }, firstName: null, lastName: null, ...context };
    const pieces = piecesFrom(`${'{{a}}'.repeat(20_000)}{{b}}`, sources);
    expect(pieces.map(({ name, value }) => [name, value?.length])).to.deep.equal([
      ...Array.from({ length: 5 }, () => ['a', 1_000]),
      ['b', undefined],
    ]);
  });

  it('is refused if {{sender_name}} is used without a “Signed by” setting', () => {
    expect(incomplete(() => message('{{sender_name}}', { sender_name: 'x' }, { senderName: null }))).to.equal(
      'sender_name',
    );
  });

  it('takes a value from the payload, then the recipient, then the contact', () => {
    expect(
      message('{{zip}} {{recipient.city}} {{city}} {{company}}', {
        postal_code: '78701',
        recipient: { city: 'austin' },
      }),
    ).to.equal('78701 austin Austin Acme');
    expect(message('{{company}} {{job_title}} {{years}}', { company: 'Mine', job_title: ' ' })).to.equal(
      'Mine CTO 0',
    );
    expect(message('{{name}} {{last_name}}', {}, { lastName: 'Lee' })).to.equal('Ann Marie Lee Lee');
  });

  it('is refused with the names of all missing values', () =>
    expect(
      incomplete(() =>
        message(
          '{{a}} {{b}} {{c}} {{d}} {{line2}} {{company}} {{constructor}} {{ok}}',
          { a: null, b: ' ', c: {}, d: [1], ok: false },
          { contact: { company: '', job_title: '', years: '' } },
        ),
      ),
    ).to.equal('a, b, c, d, line2, company, constructor'));
});
