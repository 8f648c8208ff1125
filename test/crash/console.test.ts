import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { numberFrom, openForReading } from '../../adapters/sqlite/database.js';
import { uploadPicture } from '../support/artwork/upload.js';
import { aCard, built, clientOf } from '../support/http/service.js';
import { eventually } from '../support/time/eventually.js';
import { Visitor } from '../support/http/visitor.js';
import { freePort } from '../support/servers/ports.js';
import { drawn, rounds } from '../support/runner/effort.js';
import { operate, spawnService, type ServiceProcess } from './service-process.js';

/**
 * How many other requests are answered before the kill: from one that comes at once to one that comes too
 * late.
 */
const allMoments = [0, 1, 3, 12];

describe('a form whose service is killed before it answers', () => {
  const moments = (of: string) => drawn(allMoments, 2, { of });
  let dataDir: string;
  let service: ServiceProcess;
  let visitor: Visitor;
  let org: string;
  const environment = { CLAIM_TIMEOUT: '1ms' };
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'cards-'));
    service = spawnService(dataDir, await freePort(), [], { environment });
    await service.ready;
    org = String((await operate(service, dataDir, '/organizations', { name: 'Acme' }))['id']);
    const { url } = await operate(service, dataDir, '/console-links', {});
    visitor = new Visitor({ baseUrl: service.url });
    await visitor.submit(new URL(String(url)).pathname, 'enter');
  });
  after(async () => {
    await service.end('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  });

  /**
   * Sends a form, kills the service after `moment` other requests, starts it, and sends the form again,
   * twice.
   */
  const sendThroughKill = async (
    path: string,
    form: Record<string, string>,
    moment: number,
    who = visitor,
  ) => {
    const answer = who.post(path, form).then(
      () => true,
      () => false,
    );
    for (let at = 0; at < moment; at++) await fetch(`${service.url}/healthz`);
    await service.end('SIGKILL');
    const isAnswered = await answer;
    service = spawnService(dataDir, Number(new URL(service.url).port), [], { environment });
    await service.ready;
    const again = [await who.post(path, form), await who.post(path, form)];
    return { isAnswered, again };
  };

  /** The stream of each event of a type in the log. */
  const streamsOf = async (type: string): Promise<readonly string[]> => {
    const token = (await readFile(join(dataDir, 'operator.token'), 'utf8')).trim();
    const response = await fetch(`${service.url}/operator/v1/events?until=head`, {
      headers: { authorization: `Bearer ${token}`, accept: 'application/jsonl' },
    });
    const events = (await response.text()).split('\n').filter((line) => line.includes(`"type":"${type}"`));
    return events.map((line) => (JSON.parse(line) as { readonly stream: string }).stream);
  };

  const recorded = async (type: string): Promise<number> => (await streamsOf(type)).length;

  it('has one effect, whenever that was', async () => {
    const hooks = `/console/${org}/hooks`;
    const made = await visitor.submit(hooks, 'make', { label: 'Shop' });
    const hook = `${hooks}/${/hooks\/([\w-]+)"/.exec(made.text)?.[1] ?? ''}`;
    for (const [round, moment] of moments('effects').entries()) {
      const [action, type] = round % 2 === 0 ? ['pause', 'HookPaused'] : ['resume', 'HookResumed'];
      const before = await recorded(type);
      const { again } = await sendThroughKill(hook, await visitor.form(hook, action), moment);
      expect(again.map(({ status }) => status)).to.deep.equal([303, 303]);
      expect((await recorded(type)) - before, `after ${moment} requests`).to.equal(1);
    }
  });

  it('lets somebody join once, with the password that it chose, whenever that was', async () => {
    const password = 'walnut gondola tuesday';
    for (const moment of moments('joining')) {
      const email = `ada-${moment}@example.com`;
      const invited = { email, name: 'Ada', role: 'viewer' };
      const { url } = await operate(service, dataDir, `/organizations/${org}/members`, invited);
      const join = new URL(String(url)).pathname;
      const before = await recorded('InvitationAccepted');
      const ada = new Visitor({ baseUrl: service.url });
      const form = { ...(await ada.form(join, 'join')), name: 'Ada', password };
      const { again } = await sendThroughKill(join, form, moment, ada);
      expect(again.map(({ status }) => status)).to.deep.equal([303, 303]);
      expect((await recorded('InvitationAccepted')) - before, `after ${moment} requests`).to.equal(1);
      const fresh = new Visitor({ baseUrl: service.url });
      const signIn = await fresh.submit('/console/sign-in', 'signIn', { email, password });
      expect(signIn.status).to.equal(303);
    }
  });

  it('makes one design, with its picture, and one contact, whenever that was', async () => {
    const makes = [
      ['designs', 'save', { fit: 'fill' }, 'DesignSaved'],
      ['contacts', 'make', { first_name: 'Ada' }, 'ContactCreated'],
    ] as const;
    for (const [path, action, fields, type] of makes)
      for (const moment of moments(path)) {
        const page = path === 'designs' ? await uploadPicture(visitor, org) : `/console/${org}/${path}`;
        const before = await recorded(type);
        const { again } = await sendThroughKill(
          page,
          { ...(await visitor.form(page, action)), ...fields },
          moment,
        );
        expect(again.map(({ status }) => status)).to.deep.equal([303, 303]);
        expect((await recorded(type)) - before, `${path} after ${moment} requests`).to.equal(1);
      }
    const [picture = ''] =
      /\/pictures\/[^"]+/.exec((await visitor.get(`/console/${org}/designs`)).text) ?? [];
    expect((await fetch(`${service.url}${picture}`)).status).to.equal(200);
  });

  it('imports every line of a large file once, though the service is killed while it does', async function () {
    this.timeout(300_000);
    const page = `/console/${org}/contacts/import`;
    const rows = 4_000;
    const bad = rows / 1_000;
    const row = (at: number): string => `c-${at},Ann ${at},${at % 1_000 === 0 ? 'Nowhere' : 'TX'}\n`;
    const before = await recorded('ContactCreated');
    const file = new Blob(['external_id,name,state\n', ...Array.from({ length: rows }, (_, at) => row(at))]);
    const { location } = await visitor.upload(page, await visitor.form(page, 'import'), file);
    const through = async (): Promise<number> => {
      const { text } = await visitor.get(location ?? '');
      return Number(/<strong>([\d,]+)<\/strong> of /.exec(text)?.[1]?.replaceAll(',', ''));
    };
    await eventually(async () => (await through()) > 0);
    const killedAt = await through();
    await service.end('SIGKILL');
    expect(killedAt).to.be.below(rows);
    service = spawnService(dataDir, Number(new URL(service.url).port), [], { environment });
    await service.ready;
    await eventually(async () => (await visitor.get(location ?? '')).text.includes('>done<'), {
      within: 300_000,
    });
    const { text } = await visitor.get(location ?? '');
    const shown = ['New', 'Bad lines'].map((name) =>
      Number(new RegExp(`<dt>${name}</dt><dd>([\\d,]+)`).exec(text)?.[1]?.replaceAll(',', '')),
    );
    expect(shown).to.deep.equal([rows - bad, bad]);
    const lines = (await visitor.get(`${location ?? ''}/lines.csv`)).text.trim().split('\r\n');
    expect([lines.length, lines[1]?.split(':')[0]]).to.deep.equal([bad + 1, '2,invalid_recipient']);
    expect([(await recorded('ContactCreated')) - before, await recorded('ContactReplaced')]).to.deep.equal([
      rows - bad,
      0,
    ]);
  });

  it('goes on to hold the cards of a design that was withdrawn before it, each once', async function () {
    this.timeout(120_000);
    const count = rounds({ usually: 120, thoroughly: 240 });
    const { id: own } = await operate(service, dataDir, '/organizations', { name: 'Prints' });
    const base = `/organizations/${String(own)}`;
    await operate(service, dataDir, `${base}/credits`, { amount: count });
    const { id: design } = await operate(service, dataDir, `${base}/designs`, { name: 'Theirs' });
    const { key } = await operate(service, dataDir, `${base}/keys`, { scopes: ['cards:send'] });
    const api = clientOf(service.url, String(key));
    const codes: string[] = [];
    for (let at = 0; at < count; at++) codes.push((await built(api('/api/v1/cards', { body: aCard() }))).id);
    for (const code of codes.slice(count / 2)) await operate(service, dataDir, `/cards/${code}/queue`, {});
    const designs = `/console/${String(own)}/designs`;
    const form = await visitor.form(designs, 'withdraw');
    await visitor.post(designs, { ...form, design: String(design), reason: 'It is not theirs.' });
    const log = openForReading(join(dataDir, 'events.db'));
    const heldNow = log.prepare("select count(*) from events where type = 'CardHeld'");
    await eventually(() => numberFrom(heldNow) !== 0, { within: 60_000 });
    await service.end('SIGKILL');
    expect(numberFrom(heldNow), 'at the kill').to.be.below(count);
    log.close();
    service = spawnService(dataDir, Number(new URL(service.url).port), [], { environment });
    await service.ready;
    const held = () => streamsOf('CardHeld');
    await eventually(async () => (await held()).length >= count, { within: 60_000 });
    expect((await held()).toSorted()).to.deep.equal(codes.map((code) => `card-${code}`).toSorted());
    expect((await api('/api/v1/credits')).body['balance']).to.equal(count);
  });

  it('makes no second key, and says that one may be listed', async () => {
    const keys = `/console/${org}/keys`;
    for (const moment of moments('keys')) {
      const label = `Till ${moment}`;
      const form = { ...(await visitor.form(keys, 'make')), label, 'cards:read': 'yes' };
      const { isAnswered, again } = await sendThroughKill(keys, form, moment);
      const isShown = isAnswered || again[0]?.status === 200;
      expect(again.at(-1)?.location).to.equal(`${keys}?done=keyMade`);
      const { text } = await visitor.get(keys);
      const listed = text.split(`<strong>${label}</strong>`).length - 1;
      expect(listed).to.be.within(isShown ? 1 : 0, 1);
    }
  });
});
