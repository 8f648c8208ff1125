import { expect } from 'chai';
import { exampleOf } from '../../adapters/http/document/samples.js';
import { steps } from '../../domain/card.js';
import { conformanceTo } from '../support/http/conformance.js';
import { assertExamples } from '../support/http/document-examples.js';
import { operationsOf, readDocument, type DocumentedOperation } from '../support/http/document.js';
import {
  aCard,
  startTestService,
  type Client,
  type Reply,
  type RunningService,
  type Send,
  type Tenant,
  type Fields,
} from '../support/http/service.js';
import { memberOf } from '../support/http/visitor.js';

/**
 * A response has every field that the document declares, and no other. (decision 24: absent values are null)
 */
describe('successful responses and the OpenAPI document', () => {
  let service: RunningService;
  let operations: readonly DocumentedOperation[];
  let tenant: Tenant;
  const seen = new Set<string>();
  before(async () => {
    service = await startTestService();
    operations = operationsOf(await readDocument(service.baseUrl));
    tenant = await service.tenant({ credits: 20 });
  });
  after(() => service.stop());

  const matches = (template: string, path: string): boolean =>
    new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path.split('?')[0] ?? '');
  const operationAt = (method: string, path: string): string => {
    const found = operations.filter(
      (operation) => operation.method === method && matches(operation.path, path),
    );
    // A literal path goes before one with parameters.
    return (
      found.toSorted((a, b) => a.path.split('{').length - b.path.split('{').length)[0]?.operationId ??
      `${method} ${path}`
    );
  };

  /** Makes a call that must succeed; the client throws if the response is not what the document says. */
  const good = async (
    client: Client,
    method: string,
    path: string,
    body?: unknown,
    headers?: Send['headers'],
  ): Promise<Reply> => {
    const reply = await client(path, {
      method,
      ...(body === undefined ? {} : { body }),
      ...(headers === undefined ? {} : { headers }),
    });
    expect(reply.status, `${method} ${path}: ${reply.text}`).to.be.below(300);
    seen.add(`${operationAt(method, path)} ${reply.status}`);
    return reply;
  };
  const refused = async (
    client: Client,
    method: string,
    path: string,
    status: number,
    body?: unknown,
  ): Promise<void> => {
    const reply = await client(path, { method, ...(body === undefined ? {} : { body }) });
    expect(reply.status, reply.text).to.equal(status);
  };

  it('have examples there that keep to the schema that shows them', async () => {
    assertExamples(await readDocument(service.baseUrl));
  });

  it('agree on cards', async () => {
    const { api, org } = tenant;
    const { operator } = service;
    const sent = await good(api, 'POST', '/api/v1/cards', aCard({ reference: 12 }), {
      'idempotency-key': 'one',
    });
    await good(api, 'POST', '/api/v1/cards', aCard({ reference: 12 }), { 'idempotency-key': 'one' });
    const held = await good(api, 'POST', '/api/v1/cards', aCard({ message: 'Thank you 🎉' }));
    expect(held.body['status']).to.equal('held');
    await good(api, 'GET', '/api/v1/cards');
    await good(api, 'GET', '/api/v1/cards?limit=1&status=held');
    for (const { id } of [sent, held]) {
      await good(api, 'GET', `/api/v1/cards/${id}`);
      await good(operator, 'GET', `/operator/v1/cards/${id}`);
    }
    await good(operator, 'POST', `/operator/v1/cards/${sent.id}/hold`, {
      reason: 'The address needs a look.',
    });
    await good(operator, 'POST', `/operator/v1/cards/${sent.id}/release`);
    await good(operator, 'POST', `/operator/v1/cards/${sent.id}/queue`);
    for (const step of steps) {
      await good(operator, 'POST', `/operator/v1/cards/${sent.id}/steps/${step}`, {
        status: 'in_progress',
        machine: 'pen-3',
      });
      await good(operator, 'POST', `/operator/v1/cards/${sent.id}/steps/${step}`, { status: 'completed' });
    }
    await good(api, 'GET', `/api/v1/cards/${sent.id}`);
    await good(operator, 'GET', `/operator/v1/cards/${sent.id}/history`);
    await refused(api, 'DELETE', `/api/v1/cards/${sent.id}`, 409);
    await refused(operator, 'POST', `/operator/v1/cards/${sent.id}/queue`, 409);
    await good(api, 'DELETE', `/api/v1/cards/${held.id}`);
    await good(api, 'DELETE', `/api/v1/cards/${held.id}`);
    const failing = await good(api, 'POST', '/api/v1/cards', aCard());
    await good(operator, 'POST', `/operator/v1/cards/${failing.id}/queue`);
    await good(operator, 'POST', `/operator/v1/cards/${failing.id}/steps/card_stock_prepared`, {
      status: 'in_progress',
    });
    await good(operator, 'POST', `/operator/v1/cards/${failing.id}/steps/card_stock_prepared`, {
      status: 'failed',
    });
    await good(operator, 'POST', `/operator/v1/cards/${failing.id}/fail`, { reason: 'The stock ran out.' });
    const other = await good(api, 'POST', '/api/v1/cards', aCard());
    await good(operator, 'POST', `/operator/v1/cards/${other.id}/cancel`);
    await refused(api, 'POST', '/api/v1/cards', 404, aCard({ design_id: 'card:nothing' }));
    await refused(api, 'POST', '/api/v1/cards', 422, aCard({ handwriting: 'nothing' }));
    await refused(api, 'GET', '/api/v1/cards?starting_after=nothing', 400);
    await refused(operator, 'POST', `/operator/v1/organizations/${org}/credits`, 400, { amount: 0 });
  });

  it('agree on contacts', async () => {
    const contact = {
      external_id: 7,
      name: 'Ada Lovelace',
      address: { state: 'il' },
      birthday: '1815-12-10',
      work_anniversary: '2020-02-29',
    };
    for (const [client, path] of [
      [tenant.api, '/api/v1/contacts'],
      [service.operator, `/operator/v1/organizations/${tenant.org}/contacts`],
    ] as const) {
      await good(client, 'POST', path, { ...contact, external_id: path });
      await good(client, 'POST', path, { external_id: path, first_name: 'Ada' });
      await good(client, 'GET', path);
      await good(client, 'GET', `${path}?limit=1`);
      await refused(client, 'POST', path, 422, { name: ' ' });
      await refused(client, 'POST', path, 400, { name: 'Ada', company: 1 });
    }
    const office = `/operator/v1/organizations/${tenant.org}`;
    const { id } = await good(tenant.api, 'POST', '/api/v1/contacts', { name: 'Ada King' });
    await good(service.operator, 'GET', `${office}/subjects?name=King`);
    await good(service.operator, 'POST', `${office}/erasures`, { contacts: [id], reason: 'a request' });
    await good(tenant.api, 'GET', '/api/v1/contacts');
    await refused(service.operator, 'POST', `${office}/erasures`, 404, {
      cards: ['HC-0000000'],
      reason: 'x',
    });
  });

  it('agree on previews', async () => {
    await good(tenant.api, 'POST', '/api/v1/previews', { message: 'Thank you', handwriting: 'Elegant' });
    await refused(tenant.api, 'POST', '/api/v1/previews', 422, { message: 'Hello {{name}}' });
  });

  it('agree on the account', async () => {
    for (const path of [
      '/api/v1/account',
      '/api/v1/credits',
      '/api/v1/credits/movements',
      '/api/v1/events',
      '/api/v1/designs',
      '/api/v1/collection',
      '/api/v1/handwriting',
      '/v1/handwriting',
    ])
      await good(tenant.api, 'GET', path);
    await good(tenant.api, 'POST', '/api/v1/cards', aCard());
    const { rows } = await good(tenant.api, 'GET', '/api/v1/events');
    await good(tenant.api, 'GET', `/api/v1/events/${String(rows[0]?.['id'])}`);
  });

  it('agree on the back office', async () => {
    const { operator } = service;
    const org = (
      await good(operator, 'POST', '/operator/v1/organizations', { name: 'Acme', house_hand: null })
    ).id;
    const base = `/operator/v1/organizations/${org}`;
    await good(operator, 'PATCH', base, { house_hand: 'Elegant' });
    await refused(operator, 'PATCH', base, 422, { house_hand: 'nothing' });
    await good(operator, 'POST', `${base}/credits`, { amount: 5, reason: 'A gift' });
    await good(operator, 'POST', `${base}/credits/withdraw`, { amount: 1, reason: 'A refund' });
    await good(operator, 'GET', `${base}/credits`);
    await good(operator, 'GET', `${base}/credits/movements`);
    await good(operator, 'GET', `${base}/reconciliation`);
    for (const list of ['organizations', 'collection', 'handwriting', 'cards'])
      await good(operator, 'GET', `/operator/v1/${list}`);
    for (const list of ['designs', 'do-not-mail']) await good(operator, 'GET', `${base}/${list}`);
    await good(operator, 'GET', base);
    const key = await good(operator, 'POST', `${base}/keys`, { scopes: ['cards:read'], label: 'Shop' });
    await good(operator, 'GET', `${base}/keys`);
    await good(operator, 'DELETE', `${base}/keys/${key.id}`);
    await good(operator, 'GET', `${base}/keys`);
    await good(operator, 'PUT', '/operator/v1/collection/thanks', { title: 'Thanks', active: true });
    const design = await good(operator, 'POST', `${base}/designs`, {
      name: 'Thanks',
      collection_slug: 'thanks',
    });
    await good(operator, 'POST', `${base}/designs`, { name: 'Thanks', collection_slug: 'thanks' });
    await good(operator, 'POST', `${base}/designs/${design.id}/withdraw`, { reason: 'Not yours' });
    await good(operator, 'POST', `${base}/designs/${design.id}/reinstate`);
    await good(operator, 'DELETE', `${base}/designs/${design.id}`);
    await good(operator, 'PUT', '/operator/v1/handwriting/Everyday', { active: true });
    await good(operator, 'POST', `${base}/do-not-mail`, { email: 'ada@example.com' });
    await good(operator, 'DELETE', `${base}/do-not-mail/ada@example.com`);
    const own = await good(operator, 'POST', '/operator/v1/keys', {
      scopes: ['operator:audit'],
      label: 'Ada',
    });
    await good(operator, 'GET', '/operator/v1/keys');
    await good(operator, 'DELETE', `/operator/v1/keys/${own.id}`);
    await good(operator, 'GET', `/operator/v1/requests/${own.headers.get('x-request-id') ?? ''}`);
    await good(operator, 'GET', `/operator/v1/requests?subject=${tenant.org}`);
    await good(operator, 'GET', '/operator/v1/anchor');
    await good(operator, 'POST', '/operator/v1/projections/cards/rebuild');
    await refused(operator, 'GET', '/operator/v1/organizations/nothing/keys', 404);
  });

  it('agree on people', async () => {
    const { operator } = service;
    await good(operator, 'POST', '/operator/v1/console-links');
    const base = `/operator/v1/organizations/${tenant.org}/members`;
    const bo = { email: 'bo@example.com', name: 'Bo', role: 'viewer' };
    await good(operator, 'POST', base, bo);
    await memberOf(service, tenant.org, 'developer');
    const list = await good(operator, 'GET', base);
    const [invited, joined] = list.rows.map(({ id }) => String(id));
    await good(operator, 'PATCH', `${base}/${joined}`, { role: 'viewer' });
    await good(operator, 'POST', `${base}/${joined}/reset`);
    await good(operator, 'DELETE', `${base}/${invited}`);
    await refused(operator, 'POST', base, 400, { ...bo, role: 'operator' });
    await refused(operator, 'POST', base, 400, { ...bo, email: 'bo' });
    await refused(operator, 'DELETE', `${base}/${invited}`, 404);
  });

  it('agree on hooks', async () => {
    const { operator, anonymous } = service;
    const base = `/operator/v1/organizations/${tenant.org}/hooks`;
    const hook = await good(operator, 'POST', base, {
      label: 'Shop',
      template: 'Dear {{first_name}}, thank you.',
      signed_by: 'Grace',
    });
    const path = `/api/v1/hooks/${String(hook.body['token'])}`;
    await good(anonymous, 'GET', path);
    await good(anonymous, 'POST', path, {
      name: 'Ada Lovelace',
      line1: '12 Way',
      city: 'Springfield',
      state: 'IL',
      zip: '62701',
    });
    await refused(anonymous, 'POST', path, 422, {});
    await good(operator, 'GET', base);
    await good(operator, 'GET', `${base}/${hook.id}/calls`);
    await good(operator, 'PATCH', `${base}/${hook.id}`, { paused: true });
    await refused(anonymous, 'POST', path, 403, {});
    await good(operator, 'DELETE', `${base}/${hook.id}`);
    await refused(anonymous, 'POST', path, 401, {});
  });

  it('agree on the example bodies that readers of the documentation can try', async () => {
    const { components } = await readDocument(service.baseUrl);
    const example = (name: string): unknown => exampleOf(components.schemas[name] ?? {});
    const hook = await service.operator(`/operator/v1/organizations/${tenant.org}/hooks`, { body: {} });
    await good(tenant.api, 'POST', '/api/v1/cards', example('CardInput'));
    await good(tenant.api, 'POST', '/api/v1/contacts', example('ContactInput'));
    await good(
      service.anonymous,
      'POST',
      `/api/v1/hooks/${String(hook.body['token'])}`,
      example('HookPayloadInput'),
    );
  });

  it('are compared strictly: an extra, a missing or a mistyped field is a difference', async () => {
    const conformance = await conformanceTo(service.baseUrl);
    const { headers } = await tenant.api('/api/v1/credits');
    const verdict = (body: object, status = 200): string | null =>
      conformance({ method: 'GET', path: '/api/v1/credits', status, headers, text: JSON.stringify(body) });
    const credits = { object: 'credit_balance', balance: 1 };
    expect(verdict(credits)).to.equal(null);
    for (const wrong of [{ ...credits, more: 1 }, { balance: 1 }, { ...credits, balance: null }])
      expect(verdict(wrong)).to.be.a('string');
    expect(verdict(credits, 202)).to.be.a('string');
  });

  it('agree on health', async () => {
    for (const path of ['/healthz', '/readyz']) await good(service.anonymous, 'GET', path);
  });

  it('leave events that all name an actor with an id, and requests where there was one', async () => {
    const { text } = await service.operator('/operator/v1/events?until=head', {
      headers: { accept: 'application/jsonl' },
    });
    const events = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly type: string; readonly metadata: Fields });
    const anonymous = events.filter(({ metadata }) => (metadata['actor'] as Fields)['id'] === null);
    const unasked = events.filter(
      ({ metadata }) => metadata['requestId'] === null && (metadata['actor'] as Fields)['kind'] !== 'system',
    );
    expect(events.length).to.be.above(50);
    expect([...anonymous, ...unasked].map(({ type }) => type)).to.deep.equal([]);
  });

  it('include every declared success response of every operation', () => {
    const promised = operations
      .filter(
        ({ path, responses }) =>
          !/webhooks|deliveries/.test(path) && responses['200']?.content?.['text/event-stream'] === undefined,
      )
      .flatMap(({ operationId, responses }) =>
        Object.entries(responses)
          .filter(
            ([status, { content }]) => Number(status) < 300 && content?.['application/json'] !== undefined,
          )
          .map(([status]) => `${operationId} ${status}`),
      );
    expect(promised.filter((answer) => !seen.has(answer))).to.deep.equal([]);
  });
});
