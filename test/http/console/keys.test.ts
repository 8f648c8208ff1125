import { expect } from 'chai';
import { OutcomeUnknown } from '../../../application/writing/execute.js';
import { CommandId } from '../../../domain/ids.js';
import { house } from '../../../domain/members.js';
import { settableClock } from '../../support/http/http.js';
import { clientOf, startTestService, type RunningService, type Tenant } from '../../support/http/service.js';
import { memberOf, operatorOf, type Visitor } from '../../support/http/visitor.js';
import type { Interference } from '../../support/simulation/interference.js';

const clock = settableClock('2026-03-02T15:00:00Z');

/** The key that a page shows. */
const keyIn = (text: string): string => /hck_[\w-]{43}/.exec(text)?.[0] ?? 'none';

describe('the Keys page', () => {
  let service: RunningService;
  let tenant: Tenant;
  let owner: Visitor;
  let page: string;
  const interference: Interference = {};

  before(async () => {
    service = await startTestService({}, clock, [], interference);
    tenant = await service.tenant();
    owner = await memberOf(service, tenant.org, 'owner', 'ada@example.com');
    page = `/console/${tenant.org}/keys`;
  });
  afterEach(() => delete interference.append);
  after(() => service.stop());

  const keys = async () => (await service.operator(`/operator/v1/organizations/${tenant.org}/keys`)).rows;
  const make = (fields: Readonly<Record<string, string>>) => owner.submit(page, 'make', fields);

  it('makes a key that works, shows it once with a line that uses it, and lists who made it', async () => {
    const made = await make({ label: 'Till <1>', 'cards:read': 'yes', requests_per_minute: '77' });
    const key = keyIn(made.text);
    expect(made.status).to.equal(200);
    expect(made.text).to.include('It is shown only now').and.to.include(`Authorization: Bearer ${key}`);
    const account = await clientOf(service.baseUrl, key)('/api/v1/account');
    expect([account.body['label'], account.body['scopes']]).to.deep.equal(['Till <1>', ['cards:read']]);
    expect(account.headers.get('x-ratelimit-limit')).to.equal('77');
    const { text } = await owner.get(page);
    for (const shown of ['Till &lt;1>', 'cards:read', 'by A owner', '77 a minute', 'Revoke forever'])
      expect(text).to.include(shown);
    expect(text).not.to.include('hck_');
  });

  it('makes one key for a form, however often it is sent, and says so without showing it again', async () => {
    const before = (await keys()).length;
    const form = { ...(await owner.form(page, 'make')), label: 'Twice', 'cards:send': 'yes' };
    const [first, second] = [await owner.post(page, form), await owner.post(page, form)];
    expect([first.status, second.status, second.location]).to.deep.equal([200, 303, `${page}?done=keyMade`]);
    const told = await owner.get(second.location ?? '');
    expect(told.text).to.include('This form was sent before');
    expect([keyIn(second.text), keyIn(told.text), (await keys()).length]).to.deep.equal([
      'none',
      'none',
      before + 1,
    ]);
  });

  it('makes no second key for a form whose answer was lost', async () => {
    const before = (await keys()).length;
    const form = { ...(await owner.form(page, 'make')), label: 'Lost', 'cards:send': 'yes' };
    interference.append = async (writes, append) => {
      const done = await append(writes);
      if (writes.some(({ stream }) => stream.startsWith('key-')))
        throw new OutcomeUnknown(CommandId.parse('6c0f6a3e-0000-4000-8000-000000000009'));
      return done;
    };
    expect((await owner.post(page, form)).status).to.equal(500);
    delete interference.append;
    expect((await owner.post(page, form)).status).to.equal(409);
    clock.set('2026-03-02T15:01:01Z');
    const taken = await owner.post(page, form);
    expect([taken.status, taken.location]).to.deep.equal([303, `${page}?done=keyMade`]);
    expect((await keys()).length).to.equal(before + 1);
  });

  it('lets customers give a key no higher limit than the service has, and the operator any', async () => {
    const limited = await startTestService({ RATE_LIMIT_PER_MINUTE: '50' });
    const { org } = await limited.tenant();
    const makeBy = async (visitor: Visitor, requests_per_minute: string) =>
      (await visitor.submit(`/console/${org}/keys`, 'make', { 'cards:read': 'yes', requests_per_minute }))
        .status;
    const theirs = await memberOf(limited, org, 'owner', 'bo@example.com');
    const staff = await operatorOf(limited);
    expect([await makeBy(theirs, '51'), await makeBy(theirs, '50'), await makeBy(staff, '51')]).to.deep.equal(
      [422, 200, 200],
    );
    await limited.stop();
  });

  it('refuses a key that may do nothing, and a limit that is none, with the form as it was sent', async () => {
    const before = (await keys()).length;
    const nothing = await make({ label: 'Kept' });
    expect(nothing.status).to.equal(422);
    expect(nothing.text).to.include('Choose at least one thing').and.to.include('value="Kept"');
    for (const requests_per_minute of ['0', '1.5', 'many']) {
      const refused = await make({ 'cards:send': 'yes', requests_per_minute });
      expect(refused.status, requests_per_minute).to.equal(422);
      expect(refused.text).to.include('aria-invalid="true"').and.to.include(`value="${requests_per_minute}"`);
    }
    expect((await keys()).length).to.equal(before);
  });

  it('revokes a key once, however often it is asked to', async () => {
    const key = keyIn((await make({ label: 'Short-lived', 'cards:read': 'yes' })).text);
    const [row] = await keys();
    const form = { do: 'revoke', form: 'revoke once', key: String(row?.['id']) };
    for (const answer of [await owner.post(page, form), await owner.post(page, form)])
      expect([answer.status, answer.location]).to.deep.equal([303, `${page}?done=keyRevoked`]);
    expect((await clientOf(service.baseUrl, key)('/api/v1/account')).code).to.equal('revoked_key');
    expect((await owner.get(`${page}?done=keyRevoked`)).text).to.include('Calls with it are refused');
  });

  it('answers for a key of others as for one that is none, and leaves it', async () => {
    const other = await service.tenant();
    const ids = [other.keyId, '6c0f6a3e-0000-4000-8000-00000000dead', 'x', ''];
    const answers = [];
    for (const key of ids) answers.push(await owner.post(page, { do: 'revoke', form: `of ${key}`, key }));
    expect(answers.map(({ status }) => status)).to.deep.equal([404, 404, 404, 404]);
    expect(answers[0]?.text.replaceAll(/req_[\w-]+/g, '')).to.equal(
      answers[1]?.text.replaceAll(/req_[\w-]+/g, ''),
    );
    expect((await other.api('/api/v1/account')).status).to.equal(200);
  });

  it('is read-only for viewers, and not there for the keys of operators', async () => {
    const viewer = await memberOf(service, tenant.org, 'viewer', 'bo@example.com');
    const { text } = await viewer.get(page);
    expect(text).to.include('Till &lt;1>').and.not.to.include('<form');
    const operator = await operatorOf(service);
    const { body } = await service.operator('/operator/v1/keys', { body: { scopes: ['operator:floor'] } });
    const there = `/console/${house}/keys`;
    const revoke = { do: 'revoke', form: 'of the house', key: String(body['id']) };
    expect([(await operator.get(there)).status, (await operator.post(there, revoke)).status]).to.deep.equal([
      404, 404,
    ]);
    const [key] = (await service.operator('/operator/v1/keys')).rows;
    expect(key?.['revoked_at']).to.equal(null);
  });

  it('is where the documentation leads, in the one organization or in the one that is chosen', async () => {
    const { text } = await owner.get('/docs/errors/revoked_key');
    expect(text).to.include('href="/console?place=keys"');
    expect((await owner.get('/console?place=keys')).location).to.equal(page);
    const operator = await operatorOf(service);
    await service.tenant();
    const choice = (await operator.get('/console?place=keys')).location ?? '';
    expect((await operator.get(choice)).text).to.include(`href="${page}"`);
    expect((await owner.get('/console?place=nowhere')).location).to.equal(`/console/${tenant.org}`);
  });

  it('pages through the list, and shows an organization without keys its next step', async () => {
    const { body } = await service.operator('/operator/v1/organizations', { body: { name: 'New' } });
    const empty = `/console/${String(body['id'])}/keys`;
    const operator = await operatorOf(service);
    expect((await operator.get(empty)).text)
      .to.include('No keys yet')
      .and.to.include(`curl ${service.baseUrl}/api/v1/account`);
    const office = `/operator/v1/organizations/${String(body['id'])}/keys`;
    for (let at = 1; at <= 51; at += 1)
      await service.operator(office, { body: { label: `key ${at}!`, scopes: ['cards:read'] } });
    const newest = await operator.get(empty);
    const older = /href="([^"]+)"[^>]*>\s*Older/.exec(newest.text)?.[1] ?? '';
    const oldest = await operator.get(older);
    expect([newest.text.includes('key 51!'), newest.text.includes('key 1!')]).to.deep.equal([true, false]);
    expect([oldest.text.includes('key 51!'), oldest.text.includes('key 1!')]).to.deep.equal([false, true]);
  });
});
