import { expect } from 'chai';
import fc from 'fast-check';
import { readContact } from '../../adapters/http/api/contact-fields.js';
import { contactRows } from '../../adapters/http/api/contact-file.js';
import { maxReferenceLength } from '../../domain/card.js';
import { rounds } from '../support/runner/effort.js';
import {
  aCard,
  startTestService,
  type Client,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const digits = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: min, maxLength: max });
const whole = fc.oneof(
  fc.constant('0'),
  fc.tuple(fc.constantFrom(...'123456789'), digits(0, 19)).map((parts) => parts.join('')),
);
/** A number as clients write it, with its sign, its fraction and its exponent. */
const numbers = fc
  .tuple(
    fc.constantFrom('', '-'),
    whole,
    fc.oneof(
      fc.constant(''),
      digits(1, 8).map((fraction) => `.${fraction}`),
    ),
    fc.oneof(
      { weight: 3, arbitrary: fc.constant('') },
      fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-'), fc.nat({ max: 400 })).map((parts) => parts.join('')),
    ),
  )
  .map((parts) => parts.join(''))
  .filter((text) => text.length <= maxReferenceLength);

/** What people have really sent, and a double changes. */
const known = [
  '90071992547409930', '90071992547409931', '820982911946154508', '12345678901234567890', '10.50', '1.10', '1e2', '1E400',
  '-0', '0.1', '0', '62701', '100.0',
]; // prettier-ignore

describe('a number that becomes text', function () {
  this.timeout(120_000);
  let service: RunningService;
  let tenant: Tenant;
  let fire: (payload: string) => ReturnType<Client>;

  before(async () => {
    service = await startTestService();
    tenant = await service.tenant({ credits: 10_000 });
    const hooks = `/operator/v1/organizations/${tenant.org}/hooks`;
    const { body } = await service.operator(hooks, {
      body: { template: 'It is {{order.total}}, {{quantity}}.' },
    });
    fire = (payload) =>
      service.anonymous(`/api/v1/hooks/${String(body['token'])}`, { method: 'POST', body: payload });
  });
  after(() => service.stop());

  const numbered = (json: object, names: Readonly<Record<string, string>>): string =>
    Object.entries(names).reduce(
      (text, [name, number]) => text.replace(`"${name}"`, number),
      JSON.stringify(json),
    );
  const floorsCard = async (id: string | undefined) =>
    (await service.operator(`/operator/v1/cards/${String(id)}`)).body;

  const holds = async (number: string, other: string): Promise<void> => {
    const body = numbered(aCard({ reference: 'NUMBER' }), { NUMBER: number });
    const key = { 'idempotency-key': `key of ${number}` };
    const sent = await tenant.api('/api/v1/cards', { body, headers: key });
    expect([sent.status, sent.body['reference']]).to.deep.equal([201, number]);
    const again = await tenant.api('/api/v1/cards', { body, headers: key });
    expect(again.id, number).to.equal(sent.id);
    const changed = numbered(aCard({ reference: 'NUMBER' }), { NUMBER: other });
    if (other !== number)
      expect((await tenant.api('/api/v1/cards', { body: changed, headers: key })).code).to.equal(
        'idempotency_key_reused',
      );
    const read = await tenant.api(`/api/v1/cards/${String(sent.id)}`);
    expect(read.body['reference']).to.equal(number);
    // As webhooks have it.
    const { rows } = await tenant.api(`/api/v1/events?card=${String(sent.id)}`);
    expect(rows.map(({ data }) => data)).to.deep.include.members([
      { card: sent.id, recipient: 'Ada Lovelace', reference: number, heldReason: null },
    ]);

    const contact = numbered({ external_id: 'NUMBER', name: 'Ada' }, { NUMBER: number });
    const saved = await tenant.api('/api/v1/contacts', { body: contact });
    expect(saved.body['external_id']).to.equal(number);

    const payload = numbered(
      {
        name: 'Ada Lovelace', line1: '12 Analytical Way', city: 'Springfield', state: 'IL', zip: '62701',
        id: 'NUMBER', order: { total: 'OTHER' }, quantity: 'NUMBER2',
      },
      { NUMBER: number, OTHER: other, NUMBER2: number },
    ); // prettier-ignore
    const card = await floorsCard((await fire(payload)).id);
    expect([card['reference'], card['message']]).to.deep.equal([number, `It is ${other}, ${number}.`]);
  };

  for (const number of known)
    it(`is the text that was sent: ${number}`, () => holds(number, `${number}`.replace(/\d/, '7')));

  it('is the text that was sent, digit by digit, however it is written', async () => {
    await fc.assert(fc.asyncProperty(numbers, numbers, holds), {
      numRuns: rounds({ usually: 25, thoroughly: 75 }),
      endOnFailure: true,
    });
  });

  it('is the text in a row of a file, unless a spreadsheet may have rounded it to an exponent', async () => {
    const holdsInFile = async (number: string): Promise<void> => {
      const file = (async function* () {
        yield Buffer.from(`external_id,name,company,job_title\n${number},Ada,${number},No. ${number}\n`);
      })();
      const options = { key: undefined, keyIsNamed: '', fromLine: 1, unread: {} };
      for await (const row of contactRows(file, options)) {
        if ('contact' in row)
          expect(readContact({ ...row.contact })).to.include({
            externalId: number,
            company: number,
            jobTitle: `No. ${number}`,
          });
        else expect([row.problem, number].join()).to.match(/rounded its external_id\. .*,\d.*e\+?\d+$/i);
      }
    };
    for (const number of known) await holdsInFile(number);
    await fc.assert(fc.asyncProperty(numbers, holdsInFile));
  });

  it('stays a number where the contract has a number', async () => {
    const credits = `/operator/v1/organizations/${tenant.org}/credits`;
    const before = await tenant.balance();
    expect((await service.operator(credits, { body: '{"amount":1e2}' })).status).to.equal(201);
    expect((await service.operator(credits, { body: '{"amount":5.0}' })).status).to.equal(201);
    expect((await tenant.balance()) - before).to.equal(105);
    for (const amount of ['1e400', '1.5', '-0', '-1e0'])
      expect((await service.operator(credits, { body: `{"amount":${amount}}` })).code, amount).to.equal(
        'invalid_parameter',
      );
  });

  it('is refused where the contract has a text, and is no object there', async () => {
    const refused = async (body: string) => (await tenant.api('/api/v1/cards', { body })).code;
    expect(await refused(numbered(aCard({ message: 'NUMBER' }), { NUMBER: '1.10' }))).to.equal(
      'missing_message',
    );
    expect(await refused(numbered(aCard({ recipient: 'NUMBER' }), { NUMBER: '1.10' }))).to.equal(
      'invalid_recipient',
    );
  });
});
