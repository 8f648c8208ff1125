import { expect } from 'chai';
import type { JsonSchema } from '../../adapters/http/schema/json-schema.js';
import { readDocument } from '../support/http/document.js';
import { settableClock } from '../support/http/http.js';
import {
  startTestService,
  type Fields,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const recipient = { name: 'Ann Lee', line1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' };
const hello = { recipient, message: 'Hello' };

type Properties = readonly (readonly [string, JsonSchema])[];

/** Tries each field that the document declares for a card; new fields are covered by being declared. */
describe('every field of a card', () => {
  let service: RunningService;
  let tenant: Tenant;
  let hook: string;
  let cardFields: Properties;
  let recipientFields: Properties;
  before(async () => {
    service = await startTestService({}, settableClock('2026-03-02T15:00:00Z'));
    tenant = await service.tenant({ credits: 1_000 });
    const org = `/operator/v1/organizations/${tenant.org}`;
    await service.operator(org, { method: 'PATCH', body: { house_hand: 'Casual' } });
    const made = await service.operator(`${org}/hooks`, { body: {} });
    hook = `/api/v1/hooks/${String(made.body['token'])}`;
    const { components } = await readDocument(service.baseUrl);
    const propertiesOf = (name: string): Properties =>
      Object.entries(components.schemas[name]?.properties ?? {});
    cardFields = propertiesOf('CardInput').filter(([name]) => name !== 'recipient');
    recipientFields = propertiesOf('RecipientInput');
  });
  after(() => service.stop());

  /** The card as the floor sees it, without what differs between any two cards; or the refusal. */
  const effectOf = async ({ status, code, param, id }: Reply): Promise<unknown> => {
    if (status !== 201) return [status, code, param];
    const { body } = await service.operator(`/operator/v1/cards/${id}`);
    const { id: _id, url: _url, source: _source, created_at: _at, ...card }: Fields = body;
    return card;
  };
  const sent = async (body: object) => effectOf(await tenant.api('/api/v1/cards', { body }));
  const fired = async (body: object) => effectOf(await service.anonymous(hook, { method: 'POST', body }));

  it('shows on the card if it is sent as in the example of the document', async () => {
    const plain = await sent(hello);
    for (const [name, { examples = [] }] of cardFields) {
      expect(examples, `the examples of ${name}`).not.to.have.length(0);
      const card = await sent({ ...hello, [name]: examples[0] });
      expect(card, name).to.be.an('object').and.not.deep.equal(plain);
    }
  });

  it('has the same effect in the payload of a hook as in a send', async () => {
    for (const [name, { examples = [] }] of cardFields)
      for (const value of [...examples, 7, true, {}, 'x'.repeat(600)]) {
        const body = { ...hello, [name]: value };
        expect(await fired(body), `${name} ${JSON.stringify(value)}`).to.deep.equal(await sent(body));
      }
  });

  it('of the recipient has the same effect in a hook, inside `recipient` or beside it', async () => {
    for (const [name, { examples = [] }] of recipientFields)
      for (const value of [...examples, 7, true, {}, 'Suite 7', 'x'.repeat(600)]) {
        const address = { ...recipient, [name]: value };
        const card = await sent({ ...hello, recipient: address });
        for (const payload of [
          { ...hello, recipient: address },
          { ...address, message: hello.message },
        ])
          expect(await fired(payload), `${name} ${JSON.stringify(value)}`).to.deep.equal(card);
      }
  });
});
