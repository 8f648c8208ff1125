import { expect } from 'chai';
import { operationsOf, readDocument, type DocumentedOperation } from '../support/http/document.js';
import { formsIn, pages } from '../support/http/console-pages.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../support/http/service.js';
import { memberOf, operatorOf, type Visitor } from '../support/http/visitor.js';
import { cheapPasswords } from '../support/fixtures/cheap-passwords.js';
import { SystemClock } from '../../adapters/system/clock.js';
import { eventually } from '../support/time/eventually.js';

const word = 'Xylocopa';
const address = `${word}@example.com`;

/** Headers that a client may fill with anything. */
const headers = {
  'idempotency-key': word,
  'user-agent': word,
  referer: `https://example.com/${word}`,
  'x-forwarded-for': word,
  'x-request-id': word,
  traceparent: word,
  accept: `text/${word}`,
  'last-event-id': word,
  'if-none-match': `"${word}"`,
};

type Sent = readonly [method: string, path: string, more: RequestInit];

const query = (names: readonly string[], value: string): string =>
  new URLSearchParams([...names, word].map((name) => [name, value])).toString();

/** Requests with the word in everything of an operation that takes a text, by itself and all at once. */
const requestsOf = (
  { method, path, parameters = [], requestBody }: DocumentedOperation,
  org: string,
  credential: Readonly<Record<string, string>>,
): readonly Sent[] => {
  const properties = requestBody?.content['application/json']?.schema.properties ?? {};
  const names = parameters.filter((each) => each.in === 'query').map(({ name }) => name);
  const inPath = path.replaceAll(/\{\w+\}/g, word);
  const inOrg = path.replace('{organization_id}', org).replaceAll(/\{\w+\}/g, address);
  const body = (value: unknown): string =>
    JSON.stringify({
      ...Object.fromEntries(Object.keys(properties).map((name) => [name, value])),
      [word]: word,
    });
  const json = { ...credential, 'content-type': 'application/json' };
  const bodies = [body(word), body({ [word]: word }), body([word]), `{"${word}": ${word}`, `"${word}"`];
  const strict = { prefer: `handling=strict, ${word}` };
  return [
    [method, inPath, { headers: { ...json, ...headers } }],
    [method, `${inPath}%zz`, { headers: json }],
    [method, `${inPath}/${word}`, { headers: json }],
    [method, `${inOrg}?${query(names, word)}`, { headers: { ...json, ...strict } }],
    [method, `${inOrg}?${query(names, word)}&${word}=2`, { headers: json }],
    [word.toUpperCase(), inOrg, { headers: json }],
    ...(method === 'GET'
      ? []
      : bodies.flatMap((text): Sent[] => [
          [method, inOrg, { headers: json, body: text }],
          [method, inOrg, { headers: { ...json, ...strict }, body: text }],
          [method, inOrg, { headers: { ...credential, 'content-type': `text/${word}` }, body: text }],
        ])),
  ];
};

describe('lines of the log', () => {
  const logged: string[] = [];
  let service: RunningService;
  let tenant: Tenant;
  let receiver: Receiver;

  before(async () => {
    receiver = await startReceiver((response) => response.writeHead(500, { [word]: word }).end(word));
    service = await startTestService(
      receiverSettings,
      new SystemClock(),
      [authority.cert],
      {},
      cheapPasswords,
      logged,
    );
    tenant = await service.tenant({ credits: 1_000 });
  });
  after(async () => {
    await service.stop();
    await receiver.close();
  });

  const send = async ([method, path, more]: Sent): Promise<void> => {
    const signal = AbortSignal.timeout(2_000);
    const response = await fetch(service.baseUrl + path, {
      method,
      redirect: 'manual',
      signal,
      ...more,
    }).catch(() => null);
    await response?.body?.cancel();
  };

  const withWord = (): readonly string[] => [
    ...new Set(logged.filter((line) => line.toLowerCase().includes(word.toLowerCase()))),
  ];

  it('have no text that a client has sent: no part of a path, query, header, name or value', async () => {
    const document = await readDocument(service.baseUrl);
    for (const operation of operationsOf(document)) {
      const isOperators = operation.security.some((way) => 'operatorToken' in way);
      const token = isOperators ? service.operatorToken : tenant.key;
      const sent = requestsOf(operation, tenant.org, { authorization: `Bearer ${token}` });
      for (const one of sent) await send(one);
    }
    for (const path of [
      `/${word}`,
      `/${word}%zz`,
      `//${word}`,
      `/docs/${word}`,
      `/cards/${word}`,
      `/log/${word}`,
    ])
      for (const method of ['GET', 'POST', 'OPTIONS']) await send([method, path, { headers }]);
    expect(logged.length).to.be.above(500);
    expect(withWord()).to.deep.equal([]);
  }).timeout(120_000);

  it('have no text of a credential that is wrong', async () => {
    for (const path of ['/api/v1/cards', '/api/v1/contacts', '/operator/v1/cards', `/api/v1/hooks/${word}`])
      for (const authorization of [`Bearer ${word}`, `${word} ${word}`, `Bearer hck_${word}`])
        await send(['POST', path, { headers: { ...headers, authorization } }]);
    expect(withWord()).to.deep.equal([]);
  });

  it('have no text of a card, a contact, a hook, a receiver, or a reason', async () => {
    const { org, api } = await service.tenant();
    const { operator, anonymous } = service;
    const office = `/operator/v1/organizations/${org}`;
    await api('/api/v1/webhooks', { body: { url: `${receiver.url}${word}?${word}=1` } });
    const { body: hook } = await operator(`${office}/hooks`, {
      body: { label: word, template: `Dear {{${word}}}` },
    });
    const path = `/api/v1/hooks/${String(hook['token'])}`;
    for (const body of [
      { name: word },
      { ...aCard({ message: '' }), email: address },
      { [word]: word },
      [word],
    ])
      await anonymous(`${path}?${word}=${word}`, { body });
    const { id } = await api('/api/v1/cards', {
      body: aCard({ message: `${word} →`, reference: word }),
      headers: { 'idempotency-key': word },
    });
    await operator(`/operator/v1/cards/${id}/hold`, { body: { reason: word } });
    await api(`/api/v1/cards/${id}`, { method: 'DELETE' });
    await api('/api/v1/contacts', { body: { name: word, email: address, external_id: word } });
    await operator(`${office}/do-not-mail`, { body: { email: address } });
    await operator(`${office}/do-not-mail/${address}`, { method: 'DELETE' });
    await eventually(async () => {
      const { rows } = await api(`/api/v1/deliveries?card=${id}`);
      return rows.some(({ attempts }) => JSON.stringify(attempts).includes(word));
    });
    expect(withWord()).to.deep.equal([]);
  });

  it('have no text of an address, a form or a file of the console', async () => {
    const { org } = await service.tenant();
    const visitors: readonly Visitor[] = [
      await memberOf(service, org, 'owner', `owner-${address}`, word),
      await operatorOf(service),
    ];
    const [owner] = visitors;
    const page = `/console/${org}/contacts/import`;
    await owner?.upload(
      page,
      await owner.form(page, 'import'),
      new Blob([`${word},name\n${word},${word}\n`]),
    );
    for (const visitor of [...visitors, null])
      for (const { path } of pages) {
        const at = path.replace(':org', org).replaceAll(/:\w+/g, word);
        const cookie = visitor?.cookie ?? '';
        await send(['GET', `${at}?q=${word}&${word}=${word}`, { headers: { cookie, 'user-agent': word } }]);
        const { text } = (await visitor?.get(at)) ?? { text: '' };
        const actions = formsIn(text).filter(({ action }) => !/leave|sign-out|out/.test(action));
        for (const { to, fields } of [...actions, { to: null, fields: { do: word } }]) {
          const filled = Object.entries(fields).map(([name, value]): [string, string] =>
            name === 'do' || name === 'form' ? [name, value] : [name, name === 'email' ? address : word],
          );
          const body = new URLSearchParams([...filled, [word, word]]);
          const same = { cookie, 'sec-fetch-site': 'same-origin' };
          await send(['POST', to ?? at, { headers: same, body }]);
        }
      }
    expect(withWord()).to.deep.equal([]);
  }).timeout(120_000);
});
