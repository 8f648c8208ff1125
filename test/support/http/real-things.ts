import { eventually } from '../time/eventually.js';
import type { Answer, Receiver } from './receiver.js';
import { aCard, built, type Client, type RunningService, type Tenant } from './service.js';
import { memberOf } from './visitor.js';

/** The ids that the examples of the documents show. (adapters/http/schema/shown.ts) */
const shown = {
  organization: '9b2d6c3a-51f4-4f0e-8c8a-2f7d3e1b0a64',
  card: 'HC-7K3M9QX',
  token: '0pR7sT2uVx5yZa8bCd1eFg4hIj7kLm0nOp3qRs6tUvA',
  request: 'req_01JNBSW5A4Q7M2',
  delivery: 'dlv_8e1c7a52b0d94f6c9a3b5d7f1e2c4a60',
  event: 'evt_2c5d4f6a8b1e4d0f9a7c3b5e6d8f0a12',
  position: '1042',
  treeSize: '1043',
  uuid: '4f9d1c1e-7f0b-4f0a-9a53-0d2f6b7c8e91',
} as const;

/** What happens to the card of an operation before it; others find one that waits for its day. */
const beforehand: Readonly<Record<string, readonly (readonly [path: string, body?: object])[]>> = {
  reportStep: [['queue']],
  failCard: [['queue'], ['steps/card_stock_prepared', { status: 'in_progress' }]],
  erase: [['cancel']],
  listRequests: [['hold', { reason: 'to be asked for' }], ['release']],
};

/** How the receiver responds that `realThings` gets. */
export const answers: Answer = (response, { path }) =>
  response.writeHead(path.endsWith('/failing') ? 503 : 200).end();

/** An organization that has one of everything, which stands for what the examples of the documents name. */
export interface RealThings {
  readonly tenant: Tenant;
  /** A text of an operation with the ids of real things. Each operation has a card of its own. */
  readonly in: (operationId: string, text: string) => Promise<string>;
}

export const realThings = async (service: RunningService, receiver: Receiver): Promise<RealThings> => {
  const { anonymous } = service;
  const operator: Client = (...sent) => built(service.operator(...sent));
  const tenant = await service.tenant({ credits: 1_000 });
  const { org } = tenant;
  const api: Client = (...sent) => built(tenant.api(...sent));
  const office = (path: string, body: object) =>
    operator(`/operator/v1/organizations/${org}/${path}`, { body });
  const aBody = (operationId: string): object =>
    aCard({
      arrive_on: '2099-01-01',
      reference: 'order-1001',
      ...(operationId === 'releaseCard' && { message: 'Happy birthday → see you soon' }),
    });

  for (const [slug, title] of Object.entries({ 'thank-you-botanical': 'Thanks', 'welcome-home': 'Welcome' }))
    await operator(`/operator/v1/collection/${slug}`, { method: 'PUT', body: { title, active: true } });
  await memberOf(service, org, 'owner');
  await memberOf(service, org, 'developer');
  const members = (await operator(`/operator/v1/organizations/${org}/members`)).rows;
  const developer = members.find(({ role }) => role === 'developer');
  const endpoint = (await api('/api/v1/webhooks', { body: { url: receiver.url + org } })).id;
  const hook = await office('hooks', { label: 'Shop' });
  await office('hooks', { label: 'Form' });
  const token = String(hook.body['token']);
  for (const message of ['', 'Hello'])
    await anonymous(`/api/v1/hooks/${token}`, { body: { name: 'Ada', line1: '12 Way', zip: '1', message } });
  for (const email of ['ada@example.com', 'bo@example.com']) await office('do-not-mail', { email });
  const contact = (name: string) => ({ name, external_id: name, email: 'ada@example.com' });
  await api('/api/v1/contacts', { body: contact('crm-1001') });
  const { id: contacts, headers } = await api('/api/v1/contacts', { body: contact('crm-1002') });
  const anOperatorsKey = { scopes: ['operator:audit'], label: 'Audit', expires_at: '2027-03-01T00:00:00Z' };
  await operator('/operator/v1/keys', { body: anOperatorsKey });
  for (const reference of ['order-1001', 'order-1002'])
    await api('/api/v1/cards', { body: { ...aBody(''), reference } });
  const failing = { url: `${receiver.url}${org}/failing`, events: ['card.cancelled'] };
  const { id: failingEndpoint } = await api('/api/v1/webhooks', { body: failing });
  const { id: cancelled } = await api('/api/v1/cards', { body: aBody('') });
  await api(`/api/v1/cards/${cancelled}`, { method: 'DELETE' });
  const delivery = await eventually(async () => {
    const { rows } = await api(`/api/v1/deliveries?endpoint=${failingEndpoint}`);
    return rows[0];
  });

  /** By the word before the id. */
  const ids: Readonly<Record<string, unknown>> = {
    endpoint,
    webhooks: endpoint,
    contacts,
    hooks: hook.id,
    members: developer?.['id'],
    // No card has it: withdrawing it holds none of those that other examples change.
    designs: (await office('designs', { name: 'Another' })).id,
    keys: (await office('keys', { scopes: ['cards:read'] })).id,
    'operator/v1/keys': (await operator('/operator/v1/keys', { body: anOperatorsKey })).id,
  };
  const others: Readonly<Record<string, string>> = {
    [shown.organization]: org,
    [shown.token]: token,
    [shown.request]: headers.get('x-request-id') ?? '',
    [shown.delivery]: String(delivery['id']),
    [shown.event]: String(delivery['event']),
    [shown.position]: '1',
    [shown.treeSize]: String((await anonymous('/log/checkpoint')).text.split('\n')[1]),
  };

  const untilSigned = (card: string) =>
    eventually(async () => {
      const { status } = await service.operator(`/operator/v1/log/proof?stream=card-${card}&revision=0`);
      return status === 200;
    });
  const cards = new Map<string, Promise<string>>();
  const makeCard = async (operationId: string): Promise<string> => {
    const { id } = await api('/api/v1/cards', { body: aBody(operationId) });
    for (const [path, body] of beforehand[operationId] ?? [])
      await operator(`/operator/v1/cards/${id}/${path}`, { method: 'POST', body });
    if (operationId === 'getLogProof') await untilSigned(id);
    return id;
  };
  const cardOf = (operationId: string): Promise<string> => {
    const made = cards.get(operationId) ?? makeCard(operationId);
    cards.set(operationId, made);
    return made;
  };

  const withUuids = new RegExp(String.raw`(operator/v1/keys|\w+)(\W+)${shown.uuid}`, 'g');
  return {
    tenant,
    in: async (operationId, text) => {
      const card = text.includes(shown.card) ? await cardOf(operationId) : '';
      const named = text
        .replaceAll(shown.card, card)
        .replaceAll(withUuids, (_, noun: string, between: string) => {
          const id = ids[noun];
          if (typeof id !== 'string' || id === '')
            throw new Error(`${operationId}: nothing real stands for an id of ${noun}.`);
          return `${noun}${between}${id}`;
        });
      return Object.entries(others).reduce((whole, [from, to]) => whole.replaceAll(from, to), named);
    },
  };
};
