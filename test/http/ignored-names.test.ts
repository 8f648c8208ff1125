import { expect } from 'chai';
import {
  aCard,
  startTestService,
  type Client,
  type Reply,
  type RunningService,
  type Tenant,
} from '../support/http/service.js';

const strict = { prefer: 'handling=strict' };

describe('names that an operation does not know', () => {
  let service: RunningService;
  let tenant: Tenant;
  let api: Client;

  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());
  beforeEach(async () => {
    tenant = await service.tenant({ credits: 5 });
    ({ api } = tenant);
  });

  const ignored = ({ headers }: Reply): string | null => headers.get('x-ignored-fields');
  const applied = ({ headers }: Reply): string | null => headers.get('preference-applied');
  const cards = '/api/v1/cards';

  it('are told in x-ignored-fields: fields of the body, fields inside objects, query parameters', async () => {
    const { recipient } = aCard() as { readonly recipient: object };
    const body = { ...aCard(), colour: 'red', recipient: { ...recipient, zipp: '1' } };
    const sent = await api(`${cards}?dry_run=1`, { body });
    expect([sent.status, ignored(sent)]).to.deep.equal([201, 'dry_run, recipient.zipp, colour']);
    const listed = await api(`${cards}?stauts=held&limit=1`);
    expect([listed.status, ignored(listed)]).to.deep.equal([200, 'stauts']);
  });

  it('are told where they are kept from every object', async () => {
    const body = { ...aCard(), ['__proto__']: 1, constructor: { name: 'x' } };
    const sent = await api(cards, { body });
    expect([sent.status, ignored(sent)]).to.deep.equal([201, '__proto__, constructor']);
    const refused = await api(cards, { body, headers: strict });
    expect([refused.code, refused.param]).to.deep.equal(['invalid_parameter', '__proto__']);
  });

  it('are not mentioned if there are none', async () => {
    for (const reply of [await api(cards, { body: aCard() }), await api(`${cards}?limit=1&status=`)])
      expect([ignored(reply), applied(reply)]).to.deep.equal([null, null]);
  });

  it('are told with a refusal, too: it may be their fault', async () => {
    const { recipient } = aCard() as { readonly recipient: object };
    const refused = await api(cards, { body: { recipient, mesage: 'Hi' } });
    expect([refused.code, ignored(refused)]).to.deep.equal(['missing_message', 'mesage']);
  });

  it('are at most ten, and can be sent in a header whatever they are', async () => {
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`f${n}`, n]));
    expect(ignored(await api(cards, { body: { ...aCard(), ...many } }))).to.equal(
      'f0, f1, f2, f3, f4, f5, f6, f7, f8, f9',
    );
    const odd = { 'a,b': 1, 'x\r\nset-cookie: y': 2, 'größe%': 3, '': 4, [`long${'g'.repeat(200)}`]: 5 };
    expect(ignored(await api(cards, { body: { ...aCard(), ...odd } }))).to.equal(
      `a%2Cb, x%0D%0Aset-cookie:%20y, gr%C3%B6%C3%9Fe%25, , long${'g'.repeat(96)}`,
    );
    const faces = Object.fromEntries(['a', 'b', 'c'].map((name) => [name + '😀'.repeat(99), 1]));
    const first = `a${'%F0%9F%98%80'.repeat(99)}`;
    expect(ignored(await api(cards, { body: { ...aCard(), ...faces, short: 1 } }))).to.equal(first);
  });

  it('are refused under Prefer: handling=strict before anything is done, with the nearest known name', async () => {
    const key = { 'idempotency-key': 'strict-1' };
    const refused = await api(cards, { body: { ...aCard(), mesage: 'Hi' }, headers: { ...strict, ...key } });
    expect([refused.status, refused.code, refused.param, applied(refused), ignored(refused)]).to.deep.equal([
      400,
      'invalid_parameter',
      'mesage',
      'handling=strict',
      'mesage',
    ]);
    expect(refused.text).to.include('Did you mean `message`?');
    const { recipient } = aCard() as { readonly recipient: object };
    const inside = await api(cards, {
      body: { ...aCard(), recipient: { ...recipient, zipp: '1' } },
      headers: strict,
    });
    expect([inside.code, inside.param]).to.deep.equal(['invalid_parameter', 'recipient.zipp']);
    expect(inside.text).to.include('`recipient.zip`');
    const parameter = await api(`${cards}?stauts=held`, { headers: strict });
    expect([parameter.code, parameter.param]).to.deep.equal(['invalid_parameter', 'stauts']);
    expect(parameter.text).to.include('`status`');
    expect(await tenant.balance()).to.equal(5);
    const sent = await api(cards, { body: aCard(), headers: { ...strict, ...key } });
    expect([sent.status, applied(sent)]).to.deep.equal([201, 'handling=strict']);
  });

  it('are refused in whatever form RFC 7240 gives the preference, and only in that', async () => {
    const send = async (prefer: string) =>
      (await api(`${cards}?stauts=held`, { headers: { prefer } })).status;
    for (const prefer of [
      'Handling=STRICT',
      'respond-async, handling="strict"; x=1',
      'wait=5,handling = strict',
    ])
      expect(await send(prefer), prefer).to.equal(400);
    for (const prefer of [
      'handling=lenient',
      'strict',
      'handling=lenient, handling=strict',
      'x="handling=strict"',
    ])
      expect(await send(prefer), prefer).to.equal(200);
  });

  it('are never refused by a hook, nor told', async () => {
    const made = await service.operator(`/operator/v1/organizations/${tenant.org}/hooks`, { body: {} });
    const { recipient } = aCard() as { readonly recipient: object };
    const fired = await service.anonymous(`/api/v1/hooks/${String(made.body['token'])}?from=shop`, {
      body: { ...recipient, message: 'Hi', anything: 1 },
      headers: strict,
    });
    expect([fired.status, ignored(fired), applied(fired)]).to.deep.equal([201, null, null]);
  });

  it('are refused in the query below /operator, with the nearest known name', async () => {
    const base = `/operator/v1/organizations/${tenant.org}`;
    const refused = await service.operator(`${base}/deliveries?endpiont=1`);
    expect([refused.status, refused.code, refused.param]).to.deep.equal([
      400,
      'invalid_parameter',
      'endpiont',
    ]);
    expect(refused.text).to.include('`endpoint`');
    const made = await service.operator(`${base}/keys`, { body: { scopes: ['cards:read'], labell: 'x' } });
    expect([made.status, ignored(made)]).to.deep.equal([201, 'labell']);
  });
});
