import { expect } from 'chai';
import { cardCode } from '../../domain/card-code.js';
import { operationsOf, readDocument, type DocumentedOperation } from '../support/http/document.js';
import { eventually } from '../support/time/eventually.js';
import { sampleOf } from '../support/runner/effort.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import { SystemClock } from '../../adapters/system/clock.js';
import {
  aCard,
  startTestService,
  type Fields,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';
import { memberOf } from '../support/http/visitor.js';

/** Something that an organization has, and its name in requests. */
type Names = Readonly<Record<string, string>>;

interface Owner {
  readonly tenant: Tenant;
  readonly hook: string;
  readonly hookToken: string;
  readonly names: Names;
}

/** A part of a request that names something of an organization. */
interface Place {
  readonly name: string;
  readonly ask: (by: Owner, value: string) => Promise<Reply>;
}

const hello = {
  name: 'Ann Lee',
  line1: '1 Main St',
  city: 'Austin',
  state: 'TX',
  zip: '78701',
  message: 'Hello',
};

/** Bodies that are valid except for what is being tried. */
const soundBodies: Readonly<Record<string, Fields>> = {
  'POST /api/v1/cards': { ...aCard() },
  'POST /api/v1/hooks/{token}': hello,
  'POST /operator/v1/organizations/{org}/hooks': {},
  'PATCH /operator/v1/organizations/{org}': { house_hand: 'Elegant' },
  'PATCH /operator/v1/organizations/{org}/hooks/{id}': { paused: true },
  'PATCH /operator/v1/organizations/{org}/members/{id}': { role: 'viewer' },
  'POST /operator/v1/organizations/{org}/members': { email: 'a@example.com', name: 'A', role: 'viewer' },
  'POST /operator/v1/organizations/{org}/designs/{id}/withdraw': { reason: 'Not yours' },
  'POST /operator/v1/organizations/{org}/deliveries/redrive': { from: '2020-01-01T00:00:00Z' },
  'POST /operator/v1/organizations/{org}/webhooks/{id}/replay': { from: '0' },
  'POST /api/v1/webhooks/{id}/replay': { from: '0' },
  'PATCH /api/v1/webhooks/{id}': { description: 'CRM' },
};
const namingFields = ['design_id', 'endpoint'];
/** Their cursors are names of the catalogue, numbers in a ledger, or ids that no list above has. */
const nameless = new Set([
  '/api/v1/collection',
  '/api/v1/credits/movements',
  '/api/v1/events',
  '/operator/v1/organizations/{org}/credits/movements',
]);
/** The last two are what people are looked for by: they name nobody. */
const plainQueries = ['limit', 'status', 'type', 'at', 'from', 'to', 'name', 'zip'];

/**
 * These respond alike whether the thing existed or not. (decision 57: deleting an unknown endpoint succeeds;
 * so does removing an address from the do-not-mail list)
 */
const alwaysDone = [
  'DELETE /api/v1/webhooks/{id}: id',
  'DELETE /operator/v1/organizations/{org}/do-not-mail/{email}: email',
];

/** A name of the same shape that nobody has. */
const nobodys = (name: string): string =>
  name.startsWith('HC-') ? cardCode([31, 30, 29, 28, 27, 26]) : `${name.slice(0, -6)}000000`;

/** Headers that differ between any two responses. */
const passing = new Set(['date', 'x-request-id', 'x-ratelimit-remaining', 'x-ratelimit-reset']);

/** All that a client can see of a response, without the name that it sent itself. */
const visible = ({ status, headers, text }: Reply, value: string): unknown => ({
  status,
  headers: [...headers].filter(([name]) => !passing.has(name)),
  // E-mail addresses are told in lower case.
  text: text
    .replaceAll(value, '')
    .replaceAll(value.toLowerCase(), '')
    .replaceAll(/req_[\w-]+/g, ''),
});

describe('what belongs to another organization', () => {
  let service: RunningService;
  let receiver: Receiver;
  let places: readonly Place[];
  let mine: Owner;
  let theirs: Owner;
  before(async () => {
    service = await startTestService(receiverSettings, new SystemClock(), [authority.cert]);
    receiver = await startReceiver();
    places = operationsOf(await readDocument(service.baseUrl)).flatMap(placesOf);
    mine = await newOwner('mine');
    theirs = await newOwner('theirs');
  });
  after(async () => {
    await receiver.close();
    await service.stop();
  });

  const office = ({ org }: Tenant): string => `/operator/v1/organizations/${org}`;

  /** An organization that has one of everything. */
  const newOwner = async (who: string): Promise<Owner> => {
    const tenant = await service.tenant();
    const operate = (path: string, body: unknown) => service.operator(`${office(tenant)}/${path}`, { body });
    const endpoint = (await tenant.api('/api/v1/webhooks', { body: { url: `${receiver.url}${who}` } })).id;
    const hook = await operate('hooks', { label: who, design_id: tenant.design });
    const hookToken = String(hook.body['token']);
    const card = (
      await tenant.api('/api/v1/cards', {
        body: aCard({ reference: `reference of ${who}`, arrive_on: '2099-01-01' }),
      })
    ).id;
    const contact = { name: who, external_id: `contact of ${who}`, email: `${who}-someone@example.com` };
    const email = `${who}-unwanted@example.com`;
    await operate('do-not-mail', { email });
    expect(
      (await service.anonymous(`/api/v1/hooks/${hookToken}`, { body: { ...hello, message: '' } })).code,
    ).to.equal('missing_message');
    const [delivery] = await eventually(async () => {
      const { rows } = await service.operator(`${office(tenant)}/deliveries?status=delivered`);
      return rows.length === 1 && rows;
    });
    await memberOf(service, tenant.org, 'developer');
    const names = {
      card,
      member: String((await service.operator(`${office(tenant)}/members`)).rows[0]?.['id']),
      delivery: String(delivery?.['id']),
      event: String(delivery?.['event']),
      endpoint,
      hook: hook.id,
      call: String((await service.operator(`${office(tenant)}/hooks/${hook.id}/calls`)).rows[0]?.['id']),
      key: (await operate('keys', { scopes: ['cards:read'] })).id,
      design: (await operate('designs', { name: who })).id,
      contact: (await tenant.api('/api/v1/contacts', { body: contact })).id,
      reference: `reference of ${who}`,
      external_id: contact.external_id,
      email: contact.email,
      unwanted: email,
      listed: String((await service.operator(`${office(tenant)}/do-not-mail`)).rows[0]?.['id']),
    };
    return { tenant, hook: hook.id, hookToken, names };
  };

  /**
   * The places in which one operation takes names of an organization's things. Tokens are left out, which are
   * credentials, and so are names in the catalogue and of projections, which belong to everybody.
   */
  const placesOf = (operation: DocumentedOperation): readonly Place[] => {
    const { method, path, parameters = [], requestBody } = operation;
    if ((!path.includes('{org}') && !path.startsWith('/api/')) || nameless.has(path)) return [];
    const title = `${method} ${path}`;
    const sound = soundBodies[title];
    const ask = (
      { tenant, hook, hookToken }: Owner,
      inPath: Names,
      search: string,
      fields: object,
    ): Promise<Reply> => {
      const known: Names = { org: tenant.org, token: hookToken, id: hook, ...inPath };
      const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(known[name] ?? ''),
      );
      const client = path.startsWith('/operator/')
        ? service.operator
        : path.includes('{token}')
          ? service.anonymous
          : tenant.api;
      return client(`${address}${search}`, {
        method,
        ...(requestBody !== undefined && { body: { ...sound, ...fields } }),
      });
    };
    const inPath = parameters.filter((each) => each.in === 'path' && !['org', 'token'].includes(each.name));
    const inQuery = parameters.filter((each) => each.in === 'query' && !plainQueries.includes(each.name));
    const inBody = namingFields.filter((field) =>
      Object.hasOwn(requestBody?.content['application/json']?.schema.properties ?? {}, field),
    );
    return [
      ...inPath.map(({ name }) => ({
        name: `${title}: ${name}`,
        ask: (by: Owner, value: string) => ask(by, { [name]: value }, '', {}),
      })),
      ...inQuery.map(({ name }) => ({
        name: `${title}: ?${name}`,
        ask: (by: Owner, value: string) => ask(by, {}, `?${name}=${encodeURIComponent(value)}`, {}),
      })),
      ...inBody.map((field) => ({
        name: `${title}: ${field} in the body`,
        ask: (by: Owner, value: string) => ask(by, {}, '', { [field]: value }),
      })),
    ];
  };

  /** All that an organization has, as it sees it itself, without `last_used_at`, which changes by looking. */
  const belongings = async ({ tenant }: Owner): Promise<readonly string[]> => {
    const lists = ['cards', 'contacts', 'designs', 'webhooks', 'credits'].map((list) =>
      tenant.api(`/api/v1/${list}`),
    );
    const offices = ['keys', 'hooks', 'deliveries'].map((list) =>
      service.operator(`${office(tenant)}/${list}`),
    );
    return (await Promise.all([...lists, ...offices])).map(({ text }) =>
      text.replaceAll(/"last_used_at":"[^"]*"/g, ''),
    );
  };

  it('gets the same response as what does not exist, wherever a name is taken, and stays as it is', async () => {
    const before = await belongings(theirs);
    const head = async () => (await service.operator('/operator/v1/anchor')).body['position'];
    const headBefore = await head();
    for (const { name, ask } of places)
      for (const [kind, value] of sampleOf(Object.entries(theirs.names), 5, { of: name })) {
        const missing = nobodys(value);
        expect(visible(await ask(mine, value), value), `${name} = ${kind}`).to.deep.equal(
          visible(await ask(mine, missing), missing),
        );
      }
    expect(await head()).to.equal(headBefore);
    expect(await belongings(theirs)).to.deep.equal(before);
  });

  it('is in none of the lists of an organization', async () => {
    const all = (await belongings(mine)).join('');
    for (const [kind, value] of Object.entries(theirs.names))
      expect(all.includes(value), kind).to.equal(false);
  });

  it('gets another response if its owner asks, in each of these places', async () => {
    const destructiveLast = places.toSorted(
      (a, b) => Number(a.name.startsWith('DELETE')) - Number(b.name.startsWith('DELETE')),
    );
    const isToldApart = async ({ ask }: Place): Promise<boolean> => {
      for (const value of Object.values(theirs.names)) {
        const missing = nobodys(value);
        const [own, none] = [
          visible(await ask(theirs, value), value),
          visible(await ask(theirs, missing), missing),
        ];
        if (JSON.stringify(own) !== JSON.stringify(none)) return true;
      }
      return false;
    };
    const alike = [];
    for (const place of destructiveLast) if (!(await isToldApart(place))) alike.push(place.name);
    expect(alike).to.have.members(alwaysDone);
    expect((await theirs.tenant.api('/api/v1/webhooks')).rows).to.deep.equal([]);
  });
});
