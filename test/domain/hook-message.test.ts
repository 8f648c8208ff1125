import { expect } from 'chai';
import { DomainError } from '../../domain/errors.js';
import { messageFrom, type TemplateSources } from '../../domain/hook-message.js';

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
        return error.message.replace(/^.*lacks: (.*)\. Nothing.*$/, '$1');
      throw error;
    }
    return null;
  };

  it('knows the derived variables, which nothing overrides', () =>
    expect(
      message('{{full_name}}|{{first_name}}|{{sender_name}}', {
        full_name: 'x',
        first_name: 'x',
        sender_name: 'x',
        name: 'Ann Marie Lee',
      }),
    ).to.equal('Ann Marie Lee|Ann|Bo & Co'));

  it('has the first name that was sent, where the name was joined from it', () =>
    expect(message('{{first_name}}', {}, { firstName: 'Ann Marie' })).to.equal('Ann Marie'));

  it('is incomplete without a Signed by setting', () => {
    expect(incomplete(() => message('{{sender_name}}', { sender_name: 'x' }, { senderName: null }))).to.equal(
      'sender_name',
    );
  });

  it('looks in the payload, along the dots, in the recipient, then in the contact', () => {
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

  it('names everything that is lacking', () =>
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
