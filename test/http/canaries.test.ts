import { expect } from 'chai';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { startService, type Service } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { eventually } from '../support/time/eventually.js';
import { filesBelow } from '../support/fixtures/files-below.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import { aCard, clientOf, type Reply as WholeReply } from '../support/http/service.js';
import { spendSignInSecrets } from '../support/http/sign-in-secrets.js';
import { operatorOf } from '../support/http/visitor.js';

const idempotencyKey = 'a key of the client';

/** What is searched of a response, or of a page. */
type Reply = Pick<WholeReply, 'status' | 'text'>;

const hello = {
  name: 'Ann Leeward',
  line1: '77 Canary Row',
  city: 'Austin',
  state: 'TX',
  zip: '78701',
  message: 'Hello from the coal mine',
};
const contact = {
  name: 'Ann Leeward',
  external_id: 'a',
  birthday: '1903-07-19',
  email: 'Ann@Leeward.example',
  phone: '555-0171',
};
const cardOf = { name: 'Bo Starboard', line1: '78 Canary Row', city: 'Austin', state: 'TX', zip: '78701' };

/** Personal data: it is kept with the card or contact, and must be in no log line, metric or refusal. */
const personal = ['Leeward', 'Starboard', 'Canary Row', 'coal mine', 'leeward.example', '555-0171'];

/** A signing secret in each of its forms: as it is shown, the base64 in it, and the key bytes. */
const formsOf = (secret: string): readonly Buffer[] => {
  const base64 = secret.slice('whsec_'.length);
  const bytes = Buffer.from(base64, 'base64');
  return [Buffer.from(secret), Buffer.from(base64), bytes, Buffer.from(bytes.toString('hex'))];
};

/** What was used on a service: the secrets, and the texts in which they must not be. */
interface Used {
  readonly secrets: ReadonlyMap<string, readonly Buffer[]>;
  readonly answers: readonly Reply[];
  readonly refusals: readonly Reply[];
}

/** Makes a key and a hook in the console, uses them, and looks at every page that could show them again. */
const inConsole = async (service: Service, org: string) => {
  const { baseUrl } = service;
  const operator = clientOf(baseUrl, service.operatorToken);
  const anybody = clientOf(baseUrl, null);
  const visitor = await operatorOf({ baseUrl, operator });
  const [keys, hooks] = [`/console/${org}/keys`, `/console/${org}/hooks`];
  const forms = [
    { ...(await visitor.form(keys, 'make')), 'cards:read': 'yes' },
    { ...(await visitor.form(hooks, 'make')), label: 'Form' },
  ] as const;
  const shown = [await visitor.post(keys, forms[0]), await visitor.post(hooks, forms[1])] as const;
  const [key = ''] = /hck_[\w-]{43}/.exec(shown[0].text) ?? [];
  const [, token = ''] = /hooks\/([\w-]{43})/.exec(shown[1].text) ?? [];
  const [hook = ''] = /\/console\/[\w-]+\/hooks\/[\w-]+/.exec(shown[1].text) ?? [];
  expect((await clientOf(baseUrl, key)('/api/v1/account')).status).to.equal(200);
  const refusal = await anybody(`/api/v1/hooks/${token}`, { body: {} });
  const pages = [];
  for (const path of [keys, `${keys}?done=keyMade`, hooks, `${hooks}?done=hookMade`, hook, `/console/${org}`])
    pages.push(await visitor.get(path));
  for (const { status, text } of pages) expect(status, text).to.equal(200);
  pages.push(await visitor.post(keys, forms[0]), await visitor.post(hooks, forms[1]));
  const cookie = (visitor.cookie ?? '').replace(/^session=/, '');
  expect([key, token, cookie].map(({ length }) => length)).to.deep.equal([47, 43, 43]);
  const secrets = [
    ['the key of the console', [Buffer.from(key.slice('hck_'.length))]],
    ['the hook token of the console', [Buffer.from(token)]],
    ['the cookie', [Buffer.from(cookie)]],
  ] as const;
  return { secrets, pages, refusals: [refusal] };
};

/** Makes and rotates a signing secret in the console, and looks at every page that is about endpoints. */
const endpointInConsole = async ({ baseUrl, operatorToken }: Service, org: string, url: string) => {
  const operator = clientOf(baseUrl, operatorToken);
  const visitor = await operatorOf({ baseUrl, operator });
  const [list, deliveries] = [`/console/${org}/webhooks`, `/console/${org}/deliveries`];
  const made = await visitor.submit(list, 'register', { url });
  const [endpoint = ''] = /\/console\/[\w-]+\/webhooks\/[\w-]+/.exec(made.text) ?? [];
  const form = await visitor.form(endpoint, 'rotate');
  const rotated = await visitor.post(endpoint, form);
  const signing = [made, rotated].map(({ text }) => /whsec_[\w+/]{43}=/.exec(text)?.[0] ?? '');
  const [delivery] = (await operator(`/operator/v1/organizations/${org}/deliveries`)).rows;
  const pages = [await visitor.post(endpoint, form), await visitor.submit(endpoint, 'test')];
  for (const path of [
    list,
    endpoint,
    `${endpoint}?done=rotated`,
    deliveries,
    `${deliveries}/${String(delivery?.['id'])}`,
    `/cards/${String(delivery?.['card'])}`,
    `/console/${org}`,
  ])
    pages.push(await visitor.get(path));
  for (const { status, text } of pages.slice(1)) expect(status, text).to.equal(200);
  for (const secret of signing) expect(secret).to.have.length('whsec_'.length + 44);
  const secrets = signing.map(
    (secret, at) => [`signing secret ${at} of the console`, formsOf(secret)] as const,
  );
  return { secrets, pages };
};

/** Uses every kind of secret, rightly and wrongly. */
const useSecrets = async (service: Service, key: string, receiver: Receiver): Promise<Used> => {
  const api = clientOf(service.baseUrl, key);
  const operator = clientOf(service.baseUrl, service.operatorToken);
  const anybody = clientOf(service.baseUrl, null);
  const { organization } = (await api('/api/v1/account')).body as {
    readonly organization: { readonly id: string };
  };
  const office = `/operator/v1/organizations/${organization.id}`;
  const saved = await api('/api/v1/contacts', { body: contact });
  expect(saved.body['birthday']).to.equal('07-19');

  const endpoint = await api('/api/v1/webhooks', { body: { url: receiver.url } });
  const deliveries = (count: number) =>
    eventually(async () => {
      const { rows } = await operator(`${office}/deliveries`);
      return rows.length === count && rows.every((row) => (row['attempts'] as readonly unknown[]).length > 0);
    });
  const made = await operator(`${office}/hooks`, { body: { label: 'Shop' } });
  const token = String(made.body['token']);
  const wrong = `${token.slice(1)}x`;
  expect((await anybody(`/api/v1/hooks/${token}`, { body: hello })).status).to.equal(201);
  await deliveries(1);
  const rotated = await operator(`${office}/webhooks/${endpoint.id}/rotate`, { method: 'POST' });
  receiver.answer = 500;
  await api('/api/v1/cards', {
    body: aCard({ recipient: cardOf }),
    headers: { 'idempotency-key': idempotencyKey },
  });
  await deliveries(2);
  expect(
    receiver.received.map(({ headers }) => String(headers['service-signature']).split(',').length),
  ).to.deep.equal([2, 3]);

  const refusals = [
    await api('/api/v1/contacts', { body: { ...contact, phone: {} } }),
    await api('/api/v1/cards', { body: aCard({ recipient: { ...cardOf, zip: 'x' } }) }),
    await api('/api/v1/cards', { body: aCard({ recipient: cardOf, message: 'The coal mine of {{name}}' }) }),
    await anybody(`/api/v1/hooks/${token}`, { body: { ...hello, zip: '' } }),
    await anybody(`/api/v1/hooks/${token}`, { method: 'POST', body: '{' }),
    await anybody(`/api/v1/hooks/${wrong}`, { body: hello }),
    await anybody(`/api/v1/hooks/${token}/more`, { body: hello }),
    await api('/api/v1/hooks/x', { body: hello }),
    await clientOf(service.baseUrl, `${key.slice(0, -2)}zz`)('/api/v1/account'),
    await operator(`${office}/webhooks/${organization.id}/rotate`, { method: 'POST' }),
  ];
  for (const { status, text } of refusals) expect(status, text).to.be.within(400, 499);
  const answers = [
    await anybody(`/api/v1/hooks/${token}`),
    await operator(`${office}/hooks`),
    await operator(`${office}/hooks/${made.id}/calls`),
    await operator(`${office}/keys`),
    await operator(`${office}/contacts`),
    await operator(`${office}/webhooks/${endpoint.id}/test`, { method: 'POST' }),
    await operator(`${office}/webhooks/${endpoint.id}/enable`, { method: 'POST' }),
    await operator(`${office}/webhooks`),
    await operator(`${office}/deliveries`),
    await api('/api/v1/webhooks'),
    await api('/api/v1/webhooks', { body: { url: receiver.url } }),
    await api(`/api/v1/webhooks/${endpoint.id}`, { method: 'DELETE' }),
    await anybody('/readyz'),
  ];
  for (const { status, text } of answers) expect(status, text).to.be.within(200, 299);
  const signing = [endpoint.body['signing_secret'], rotated.body['signing_secret']].map(String);
  for (const secret of signing) expect(secret).to.match(/^whsec_.{44}$/);
  const inPages = await inConsole(service, organization.id);
  const onPages = await endpointInConsole(service, organization.id, receiver.url);
  const onTheWayIn = await spendSignInSecrets({ baseUrl: service.baseUrl, operator }, organization.id);
  const secrets = new Map<string, readonly Buffer[]>([
    ...onTheWayIn.secrets,
    ...inPages.secrets,
    ...onPages.secrets,
    ['the hook token', [Buffer.from(token)]],
    ['the wrong token', [Buffer.from(wrong)]],
    ['the API key', [Buffer.from(key), Buffer.from(key.slice('hck_'.length))]],
    ['the operator token', [Buffer.from(String(service.operatorToken))]],
    ['the Idempotency-Key', [Buffer.from(idempotencyKey)]],
    // As a date or a text of its own: hashes may begin with these digits, too.
    ['the birth year', ['1903-07-19', '"1903-', '"1903"'].map((text) => Buffer.from(text))],
    ...signing.map((secret, index) => [`signing secret ${index}`, formsOf(secret)] as const),
  ]);
  return {
    secrets,
    answers: [
      ...answers,
      ...refusals,
      ...inPages.pages,
      ...onPages.pages,
      ...onTheWayIn.pages,
      ...inPages.refusals,
    ],
    refusals: [...refusals, ...inPages.refusals, await anybody('/metrics')],
  };
};

describe('secrets, birth years and personal data', () => {
  let directory: string;
  let receiver: Receiver;
  let used: Used;
  const lines: string[] = [];
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    receiver = await startReceiver();
    const settings = readSettings({ PORT: '0', DATA_DIR: directory, DEMO: 'on', ...receiverSettings });
    const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    const fail = (error: unknown): never => {
      throw error;
    };
    const options = {
      settings,
      role: 'all',
      clock: new SystemClock(),
      entropy: new SystemEntropy(),
      log,
      fail,
    } as const;
    const service = await startService({ ...options, extraCertificates: [authority.cert] });
    try {
      used = await useSecrets(service, (await service.prepared) ?? '', receiver);
    } finally {
      await service.stop();
    }
  });
  after(async () => {
    await receiver.close();
    await rm(directory, { recursive: true, force: true });
  });

  const find = (
    places: Iterable<readonly [string, Buffer]>,
    wanted: Iterable<readonly [string, readonly Buffer[]]>,
  ): readonly string[] => {
    const canaries = [...wanted].flatMap(([what, forms]) => forms.map((form) => [what, form] as const));
    return [...places].flatMap(([place, bytes]) =>
      canaries.filter(([, form]) => bytes.includes(form)).map(([what]) => `${what} in ${place}`),
    );
  };
  const texts = (what: string, replies: readonly Reply[]) =>
    replies.map(({ text }, index) => [`${what} ${index}`, Buffer.from(text)] as const);
  const log = (): readonly [string, Buffer] => ['log', Buffer.from(lines.join(''))];

  it('secrets and birth years are in no data file, log line, metric or response after use', async () => {
    const files = await filesBelow(directory);
    const holds = (name: string): boolean =>
      [name, `${name}-wal`].some((each) =>
        files.some(([file, bytes]) => file === each && bytes.includes('"07-19"')),
      );
    expect([lines.length > 10, holds('read.db')], 'the search finds text that is there').to.deep.equal([
      true,
      true,
    ]);
    expect(holds('events.db'), 'a birthday lies sealed in the log').to.equal(false);
    const places = [
      ...files,
      ...texts('answer', used.answers),
      ...texts('refusal or metric', used.refusals),
      log(),
    ];
    expect(find(places, used.secrets)).to.deep.equal(['the operator token in operator.token']);
  });
  it('personal data is in no log line, metric or refusal', () => {
    const people = personal.map((text): readonly [string, readonly Buffer[]] => [text, [Buffer.from(text)]]);
    expect(find([...texts('refusal or metric', used.refusals), log()], people)).to.deep.equal([]);
  });
});
