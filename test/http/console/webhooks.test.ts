import { expect } from 'chai';
import { SystemClock } from '../../../adapters/system/clock.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../../support/http/receiver.js';
import { read } from '../../support/runner/repository.js';
import {
  aCard,
  startTestService,
  type Fields,
  type RunningService,
  type Tenant,
} from '../../support/http/service.js';
import { memberOf, type Page, type Visitor } from '../../support/http/visitor.js';
import { eventually } from '../../support/time/eventually.js';

const secretIn = ({ text }: Page): string | undefined => /whsec_[\w+/]{43}=/.exec(text)?.[0];

describe('the pages about webhooks', () => {
  let service: RunningService;
  let tenant: Tenant;
  let receiver: Receiver;
  let owner: Visitor;
  let list: string;

  before(async () => {
    const settings = { ...receiverSettings, WEBHOOK_BACKOFF: '40ms', WEBHOOK_DISABLE_AFTER: '2' };
    service = await startTestService(settings, new SystemClock(), [authority.cert]);
    tenant = await service.tenant();
    owner = await memberOf(service, tenant.org, 'owner');
    list = `/console/${tenant.org}/webhooks`;
  });
  after(() => service.stop());
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(async () => {
    for (const { id } of await endpoints())
      await tenant.api(`/api/v1/webhooks/${String(id)}`, { method: 'DELETE' });
    await receiver.close();
  });

  const endpoints = async (): Promise<readonly Fields[]> => (await tenant.api('/api/v1/webhooks')).rows;
  const head = async () => (await service.operator('/operator/v1/anchor')).body['position'];
  /** The events of an endpoint, with those who caused them. */
  const recorded = async (path: string): Promise<readonly Fields[]> => {
    const headers = { accept: 'application/jsonl' };
    const { text } = await service.operator('/operator/v1/events?until=head&category=webhooks', { headers });
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Fields)
      .filter(({ data }) => path.endsWith(String((data as Fields)['id'])));
  };

  const anEndpoint = async (changes: object = {}): Promise<string> => {
    const body = { url: receiver.url, ...changes };
    return `${list}/${(await tenant.api('/api/v1/webhooks', { body })).id}`;
  };

  it('say what an endpoint is and how to make one, while there is none', async () => {
    const { text } = await owner.get(list);
    expect(text).to.include('No endpoint yet').and.to.include(`curl ${service.baseUrl}/api/v1/webhooks`);
    const viewer = await memberOf(service, tenant.org, 'viewer');
    const seen = (await viewer.get(list)).text;
    expect(seen).to.include('An owner or a developer registers one.').and.not.to.include('name="do"');
  });

  it('register an endpoint once, and show its secret in that answer alone', async () => {
    const form = { ...(await owner.form(list, 'register')), url: receiver.url, 'card.mailed': 'on' };
    const made = await owner.post(list, form);
    const secret = secretIn(made);
    expect([made.status, secret === undefined, made.headers.get('cache-control')]).to.deep.equal([
      200,
      false,
      'no-store',
    ]);
    const [endpoint] = await endpoints();
    expect(endpoint).to.deep.include({ url: receiver.url, events: ['card.mailed'], description: null });
    const here = `${list}/${String(endpoint?.['id'])}`;
    const again = await owner.post(list, form);
    expect([again.status, again.location]).to.deep.equal([303, `${list}?done=registered`]);
    expect((await owner.get(again.location ?? '')).text).to.include('already exists');
    expect(await endpoints()).to.have.length(1);
    for (const path of [list, here, `/console/${tenant.org}`, `/console/${tenant.org}/deliveries`])
      expect(secretIn(await owner.get(path)), path).to.equal(undefined);
    const same = await owner.submit(list, 'register', { url: receiver.url });
    expect([same.status, same.location]).to.deep.equal([303, `${here}?done=registered`]);
    const [registered, ...more] = await recorded(here);
    expect(registered).to.have.nested.property('metadata.actor.kind', 'member');
    expect(more).to.deep.equal([]);
  });

  it('refuse the addresses that the API refuses, and show the form as it was filled in', async () => {
    const before = await head();
    for (const url of [
      '',
      'http://example.com/',
      'https://localhost/',
      'https://10.0.0.1/',
      'javascript:1',
    ]) {
      const refused = await owner.submit(list, 'register', { url, description: 'CRM', 'card.held': 'on' });
      expect([refused.status, refused.location], url).to.deep.equal([422, null]);
      expect(refused.text).to.include('role="alert"').and.to.include('value="CRM"');
      expect(refused.text).to.match(/name="card.held" value="on" checked/);
    }
    const long = await owner.submit(list, 'register', { url: receiver.url, description: 'x'.repeat(256) });
    expect([long.status, await head()]).to.deep.equal([422, before]);
  });

  it('send a test event once a form, and show what came of it', async () => {
    const here = await anEndpoint();
    receiver.answer = (response) => response.writeHead(503).end('<h1>Sorry</h1>');
    const form = await owner.form(here, 'test');
    const tested = await owner.post(here, form);
    expect(tested.text)
      .to.include('Not accepted')
      .and.to.match(/<strong>(HTTP )?503<\/strong> in \d+ ms/);
    expect(tested.text).to.include('&lt;h1>Sorry&lt;/h1>');
    expect((await owner.post(here, form)).location).to.equal(here);
    expect(receiver.received).to.have.length(1);
    receiver.answer = 204;
    expect((await owner.submit(here, 'test')).text).to.match(/Accepted[^]*<strong>204<\/strong> in \d+ ms/);
  });

  it('tell that and why an endpoint was switched off, and switch it on again', async () => {
    const here = await anEndpoint();
    receiver.answer = 500;
    await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    await eventually(async () => (await endpoints())[0]?.['active'] === false);
    for (const path of [list, here, `/console/${tenant.org}`])
      expect((await owner.get(path)).text, path).to.match(
        /Off[^]*since [^]*2 failures in a row, the last one/,
      );
    receiver.answer = 200;
    const form = await owner.form(`/console/${tenant.org}`, 'enable');
    expect((await owner.post(here, form)).location).to.equal(`${here}?done=enabled`);
    const position = await head();
    expect((await owner.post(here, form)).location).to.equal(`${here}?done=enabled`);
    expect([(await endpoints())[0]?.['active'], await head()]).to.deep.equal([true, position]);
    expect((await owner.get(list)).text).not.to.include('Switch on');
  });

  it('change the events and the description, and say what was wrong with either', async () => {
    const here = await anEndpoint({ events: ['card.created'], description: 'CRM' });
    const form = await owner.form(here, 'change');
    const changed = await owner.post(here, { ...form, description: '', 'card.mailed': 'on' });
    expect(changed.location).to.equal(`${here}?done=changed`);
    expect((await endpoints())[0]).to.deep.include({ events: ['card.mailed'], description: null });
    const refused = await owner.submit(here, 'change', { description: 'x'.repeat(256) });
    expect([refused.status, refused.text.includes('x'.repeat(256))]).to.deep.equal([422, true]);
    expect((await owner.submit(here, 'change', {})).status).to.equal(303);
    expect((await endpoints())[0]).to.deep.include({ events: [], description: null });
  });

  it('rotate a secret once a form, and show the new one in that answer alone', async () => {
    const here = await anEndpoint();
    const form = await owner.form(here, 'rotate');
    const [first, second] = [await owner.post(here, form), await owner.post(here, form)];
    expect([first.status, secretIn(first) === undefined]).to.deep.equal([200, false]);
    expect([second.status, second.location]).to.deep.equal([303, `${here}?done=rotated`]);
    const { text } = await owner.get(second.location ?? '');
    expect([text.includes('already rotated'), secretIn(second)]).to.deep.equal([true, undefined]);
    const rotated = (await recorded(here)).filter(({ type }) => type === 'SecretRotated');
    expect(rotated).to.have.length(1);
  });

  it('replay what an endpoint has not accepted, since a time of the service’s zone', async () => {
    await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    const here = await anEndpoint();
    const none = await owner.submit(here, 'replay', { since: '2999-01-01T00:00' });
    expect([none.status, receiver.received.length]).to.deep.equal([303, 0]);
    for (const since of ['', 'yesterday', '2026-02-30T10:00x', '2026-13-01T00:00'])
      expect((await owner.submit(here, 'replay', { since })).status, since).to.equal(422);
    const form = { ...(await owner.form(here, 'replay')), since: '2020-01-01T00:00' };
    expect((await owner.post(here, form)).location).to.equal(`${here}?done=replayed`);
    const sent = (await tenant.api('/api/v1/cards')).rows.length;
    await eventually(() => receiver.received.length === sent);
    expect((await owner.post(here, form)).location).to.equal(`${here}?done=replayed`);
    expect(receiver.received).to.have.length(sent);
  });

  it('delete an endpoint forever', async () => {
    const here = await anEndpoint();
    const form = await owner.form(here, 'delete');
    for (const answer of [await owner.post(here, form), await owner.post(here, form)])
      expect([answer.status, answer.location]).to.deep.equal([303, `${list}?done=deleted`]);
    expect(await endpoints()).to.deep.equal([]);
    expect((await owner.get(here)).status).to.equal(404);
  });

  it('answer alike for an endpoint of somebody else and for none', async () => {
    const other = await service.tenant();
    const url = 'https://127.0.0.2:1/theirs';
    const theirs = (await other.api('/api/v1/webhooks', { body: { url } })).id;
    const none = theirs.replace(/.{6}$/, '000000');
    const before = await head();
    const said = async (id: string): Promise<readonly unknown[]> => {
      const actions = ['test', 'enable', 'replay', 'change', 'rotate', 'delete'];
      const since = '2020-01-01T00:00';
      const pages = [
        await owner.get(`${list}/${id}`),
        ...(await Promise.all(
          actions.map((action) => owner.post(`${list}/${id}`, { do: action, form: action + id, since })),
        )),
      ];
      return pages.map(({ status, text }) => [status, text.replaceAll(/req_[\w-]+/g, 'req_')]);
    };
    const [real, missing] = [await said(theirs), await said(none)];
    expect(real).to.deep.equal(missing);
    expect(await head()).to.equal(before);
  });

  it('show the examples that the tests of receivers run', async () => {
    const { text } = await owner.get(list);
    const shown = text.replaceAll('&lt;', '<').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
    for (const file of ['verify-webhook.mjs', 'receiver.py'])
      expect(shown).to.include(read(`examples/${file}`).trim());
  });
});
