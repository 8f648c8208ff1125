import { expect } from 'chai';
import { pino } from 'pino';
import { failuresPerMinute, retryAfter } from '../../../adapters/http/server/caller.js';
import type { ConsoleDeps } from '../../../adapters/http/console/deps.js';
import { deviceCookie } from '../../../adapters/http/console/visitor.js';
import { pageRoutes } from '../../../adapters/http/console/routes.js';
import { issueReset } from '../../../application/access/password-resets.js';
import { inviteMember, listMembers } from '../../../application/access/people.js';
import { root } from '../../../application/access/sessions.js';
import { issueLink } from '../../../application/access/sign-in-links.js';
import { TooManySignIns, type PasswordJudge } from '../../../application/ports/passwords.js';
import { devicesWith } from '../../../application/access/devices.js';
import { triesPerMinute } from '../../../application/access/sign-in.js';
import { mailboxIdOf } from '../../../domain/account.js';
import { streamName, type Uuid } from '../../../domain/ids.js';
import { house } from '../../../domain/members.js';
import { addMember, byOperator, makePeople, type PeopleWorld } from '../../support/fixtures/people.js';
import { org } from '../../support/fixtures/world.js';
import { startHttp, type LogLine, type TestService } from '../../support/http/http.js';
import { password, Visitor } from '../../support/http/visitor.js';

const ada = { email: 'ada@example.com', name: 'Ada Byron', role: 'owner' } as const;
const firefox = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' };

/** The pages with which people sign in, over memory, and with passwords that cost next to nothing. */
describe('the pages with which people sign in', () => {
  let people: PeopleWorld;
  let service: TestService;
  let account: Uuid;
  let lines: LogLine[];
  let judging: PasswordJudge;

  beforeEach(async () => {
    people = await makePeople();
    lines = [];
    judging = { judge: () => Promise.resolve(null) };
    const log = pino(
      { base: null },
      { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) },
    );
    const baseUrl = () => service.base;
    const devices = devicesWith([{ id: 'a', key: Buffer.alloc(32, 1) }]);
    const deps = {
      ...people,
      judge: judging,
      devices,
      log,
      baseUrl,
      timeZone: 'UTC',
      trustedProxies: ['127.0.0.0/8'],
      hasConsole: true,
      rehearsal: () => null,
      claimTimeout: 60_000,
    };
    service = await startHttp(pageRoutes(deps as unknown as ConsoleDeps), { baseUrl });
    account = await addMember(people, org, ada, password);
  });
  afterEach(() => service.close());

  const visitor = () => new Visitor({ baseUrl: service.base });
  const signIn = (who: Visitor, sent: string) =>
    who.submit('/console/sign-in', 'signIn', { email: ada.email, password: sent });
  const told = () =>
    lines.map(({ msg, account: whose, mailbox, address, browser, request }) => {
      expect([address, browser, String(request).slice(0, 4)]).to.deep.equal([
        '127.0.0.1',
        'Firefox on Linux',
        'req_',
      ]);
      return [msg, whose ?? mailbox];
    });

  it('answer the twenty-first try in a minute with 429 and when to come back, but for a browser that was in before', async () => {
    const me = visitor();
    await signIn(me, password);
    const { token } = await inviteMember(people, byOperator, house, { ...ada, role: 'floor' });
    const join = `/console/join/${house}/${token}`;
    for (let tries = 1; tries < triesPerMinute.mailboxOfNetwork; tries += 1)
      expect((await signIn(visitor(), 'wrong')).status).to.equal(422);
    const wait = String(retryAfter(people.clock.now()));
    for (const { status, headers, text } of [
      await signIn(visitor(), password),
      await visitor().submit(join, 'joinWith', { current: password }),
    ]) {
      expect([status, headers.get('retry-after')]).to.deep.equal([429, wait]);
      expect(text).to.include('There were too many tries to sign in.').and.to.include('<form');
    }
    await me.submit('/console/me', 'signOut');
    expect((await signIn(me, 'wrong')).status).to.equal(422);
    expect((await signIn(me, password)).status).to.equal(303);
    const next = 'another pelican staircase';
    expect((await me.submit('/console/me', 'changePassword', { password, next })).status).to.equal(303);
    await people.clock.advance(60_000);
    expect((await signIn(visitor(), next)).status).to.equal(303);
  });

  it('count tries by the address that a trusted proxy tells', async () => {
    const from = async (forwarded: string): Promise<number> => {
      const browser = visitor();
      const form = await browser.form('/console/sign-in', 'signIn');
      const headers = { 'sec-fetch-site': 'same-origin', 'x-forwarded-for': forwarded };
      const fields = { ...form, email: ada.email, password: 'wrong' };
      return (await browser.post('/console/sign-in', fields, headers)).status;
    };
    for (let tries = 0; tries < triesPerMinute.mailboxOfNetwork; tries += 1)
      expect(await from(`203.0.113.${tries}, 2001:db8:0:1::${tries}`)).to.equal(422);
    expect(await from('2001:db8:0:1::ffff')).to.equal(429);
    expect(await from('2001:db8:0:2::ffff')).to.equal(422);
    expect((await signIn(visitor(), 'wrong')).status).to.equal(422);
  });

  it('know a browser by a cookie that lasts until the password changes or all others are signed out', async () => {
    const [here, there] = [visitor(), visitor()];
    const { headers } = await signIn(here, password);
    await signIn(there, password);
    const [, device = ''] = headers.getSetCookie();
    expect(device).to.match(
      /^device-[0-9a-f]=[0-9a-f-]{36}\.[0-9a-f-]{36}\.[\w-]{43}; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    expect(deviceCookie('https://cards.example', 'a7', 'signed')).to.equal(
      '__Host-device-a=signed; Max-Age=34560000; Path=/; HttpOnly; Secure; SameSite=Lax',
    );
    const forged = visitor();
    forged.cookie = device.split(';')[0]?.replace(/.{43}$/, 'A'.repeat(43)) ?? '';
    /** Which of them are let in while everybody else is told to wait. */
    const known = async (...browsers: readonly Visitor[]) => {
      for (let tries = 0; tries < triesPerMinute.mailboxOfNetwork; tries += 1)
        await signIn(visitor(), 'wrong');
      const statuses: number[] = [];
      for (const browser of browsers) statuses.push((await signIn(browser, 'wrong')).status);
      await people.clock.advance(60_000);
      return statuses.map((status) => status === 422);
    };
    expect(await known(here, there, forged, visitor())).to.deep.equal([true, true, false, false]);
    await here.submit('/console/me', 'signOutOthers');
    expect(await known(here, there)).to.deep.equal([true, false]);
    await signIn(there, password);
    const next = 'another pelican staircase';
    expect((await there.submit('/console/me', 'changePassword', { password, next })).status).to.equal(303);
    await here.get('/console/me');
    expect(await known(here, there)).to.deep.equal([false, true]);
  });

  it('take so many forms of an account in a minute, of which none is an event that changes nothing', async () => {
    const me = visitor();
    await signIn(me, password);
    const form = await me.form('/console/me', 'signOutOthers');
    const send = (at: number) => me.post('/console/me', { ...form, form: `form ${at}` });
    for (let sent = 1; sent <= 120; sent += 1) expect((await send(sent)).status).to.equal(303);
    const { status, headers, text } = await send(121);
    expect([status, headers.get('retry-after')]).to.deep.equal([429, String(retryAfter(people.clock.now()))]);
    expect(text).to.include('120 forms').and.to.include('signOutOthers');
    const events = await people.store.readStream(streamName('account', account), 0);
    expect(events.map(({ type }) => type)).not.to.include('SignedOutEverywhere');
    await signIn(visitor(), password);
    people.clock.set(people.clock.now() + 60_000);
    expect((await send(122)).status).to.equal(429);
    await people.clock.advance(60_000);
    expect((await send(123)).status).to.equal(303);
    const [last] = (await people.store.readStream(streamName('account', account), 0)).slice(-1);
    expect(last?.type).to.equal('SignedOutEverywhere');
  });

  it('count links that lead nowhere with the failures of their address, and say so when there are too many', async () => {
    const hits = () => people.rateLimiter.hit('address:127.0.0.1', people.clock.now());
    const nowhere = ['/console/enter/none', '/console/reset/none', `/console/join/${org}/none`];
    for (const path of nowhere) expect((await visitor().get(path)).status).to.equal(404);
    expect(await hits()).to.equal(4);
    for (let failures = 4; failures < failuresPerMinute; failures += 1) await hits();
    for (const path of nowhere) {
      const { status, headers, text } = await visitor().get(path);
      expect([status, headers.get('retry-after')]).to.deep.equal([
        429,
        String(retryAfter(people.clock.now())),
      ]);
      expect(text).to.include('There were too many tries to sign in from your network.');
    }
    const { token } = await issueLink(people, 'enter', root);
    expect((await visitor().submit(`/console/enter/${token}`, 'enter')).status).to.equal(303);
  });

  it('say that signing in can’t be checked while its store is away, and when to come back', async () => {
    const me = visitor();
    await signIn(me, password);
    const form = await me.form('/console/sign-in', 'signIn');
    people.signInRecords.away = true;
    await people.clock.advance(5_000);
    const fields = { ...form, email: ada.email, password };
    for (const page of [await me.get('/console/me'), await visitor().post('/console/sign-in', fields)]) {
      expect([page.status, page.headers.get('retry-after')]).to.deep.equal([503, '5']);
      expect(page.text).to.match(/Sign-in can(&#39;|'|’)t be checked just now\./);
    }
  });

  it('ask people to wait while too many others are signing in', async () => {
    people.passwords.check = () => Promise.reject(new TooManySignIns());
    const { status, headers, text } = await signIn(visitor(), password);
    expect([status, headers.get('retry-after')]).to.deep.equal([503, '5']);
    expect(text).to.include('Too many are signing in');
  });

  it('take a form again at once that met too many who were signing in', async () => {
    const me = visitor();
    await signIn(me, password);
    const form = await me.form('/console/me', 'changePassword');
    const change = () => me.post('/console/me', { ...form, password, next: 'another pelican staircase' });
    judging.judge = () => Promise.reject(new TooManySignIns());
    expect((await change()).status).to.equal(503);
    judging.judge = () => Promise.resolve(null);
    expect((await change()).status).to.equal(303);
  });

  it('let somebody with an account join with its own password alone, and leave that as it is', async () => {
    const { token } = await inviteMember(people, byOperator, house, { ...ada, role: 'floor' });
    const join = `/console/join/${house}/${token}`;
    const wrong = await visitor().submit(join, 'joinWith', { current: 'another pelican staircase' });
    expect(wrong.status).to.equal(422);
    expect(wrong.text)
      .to.include('This is not the password of an account with this e-mail address.')
      .and.include('#field-current');
    expect((await visitor().submit(join, 'joinWith', { current: password })).location).to.equal('/console');
    expect((await signIn(visitor(), password)).status).to.equal(303);
    expect((await signIn(visitor(), 'another pelican staircase')).status).to.equal(422);
    expect((await visitor().get(join)).status).to.equal(404);
  });

  it('set a new password by a link once: every session ends, and the old password is no more', async () => {
    const before = visitor();
    await signIn(before, password);
    const [member] = await listMembers(people, org);
    if (member === undefined) throw new Error('nobody is a member');
    const { token } = await issueReset(people, byOperator, org, member.id);
    const next = 'another pelican staircase';
    const after = visitor();
    const reset = `/console/reset/${token}`;
    expect((await after.submit(reset, 'reset', { password: next })).location).to.equal('/console');
    expect((await after.get('/console/me')).status).to.equal(200);
    expect((await before.get('/console/me')).status).to.equal(303);
    expect((await signIn(visitor(), password)).status).to.equal(422);
    expect((await signIn(visitor(), next)).status).to.equal(303);
    expect((await visitor().get(reset)).status).to.equal(404);
  });

  it('tell the log who signed in and out, and who was refused', async () => {
    const browser = visitor();
    const send = async (path: string, action: string, fields: Readonly<Record<string, string>> = {}) => {
      const form = { ...(await browser.form(path, action)), ...fields };
      return browser.post(path, form, { ...firefox, 'sec-fetch-site': 'same-origin' });
    };
    const next = 'another pelican staircase';
    await send('/console/sign-in', 'signIn', { email: ada.email, password: 'a wrong one' });
    await send('/console/sign-in', 'signIn', { email: 'nobody@example.com', password });
    await send('/console/sign-in', 'signIn', { email: ada.email, password });
    await send('/console/me', 'changePassword', { password, next });
    await send('/console/me', 'signOutOthers');
    await send('/console/me', 'signOut');
    const { token } = await issueLink(people, 'enter', root);
    await send(`/console/enter/${token}`, 'enter');
    const [member] = await listMembers(people, org);
    if (member === undefined) throw new Error('nobody is a member');
    const reset = await issueReset(people, byOperator, org, member.id);
    await send(`/console/reset/${reset.token}`, 'reset', { password });
    const invitation = await inviteMember(people, byOperator, house, { ...ada, role: 'floor' });
    await send(`/console/join/${house}/${invitation.token}`, 'joinWith', { current: password });
    expect(told()).to.deep.equal([
      ['sign-in refused', mailboxIdOf(ada.email)],
      ['sign-in refused', mailboxIdOf('nobody@example.com')],
      ['signed in', account],
      ['signed out elsewhere', account],
      ['signed out elsewhere', account],
      ['signed out', account],
      ['signed in', 'root'],
      ['signed in', account],
      ['signed in', account],
    ]);
    const written = JSON.stringify([...lines, ...service.log]);
    for (const secret of [password, next, 'a wrong one', ada.email, 'nobody@', token, reset.token])
      expect(written, secret).not.to.include(secret);
    expect(written).not.to.include(invitation.token);
    expect(service.log.map(({ route }) => route)).to.include.members([
      '/console/enter/{link}',
      '/console/reset/{link}',
      '/console/join/{organization}/{invitation}',
    ]);
  });
});
