import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Visitor } from '../support/http/visitor.js';
import { freePort } from '../support/servers/ports.js';
import { sampleOf } from '../support/runner/effort.js';
import { operate, spawnService, type ServiceProcess } from './service-process.js';

/**
 * How many other requests are answered before the kill: from one that comes at once to one that comes too
 * late.
 */
const allMoments = [0, 1, 3, 12];

describe('a form whose service is killed before it answers', () => {
  const moments = (of: string) => sampleOf(allMoments, 2, { of });
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
  const sendThroughKill = async (path: string, form: Record<string, string>, moment: number) => {
    const answer = visitor.post(path, form).then(
      () => true,
      () => false,
    );
    for (let at = 0; at < moment; at++) await fetch(`${service.url}/healthz`);
    await service.end('SIGKILL');
    const isAnswered = await answer;
    service = spawnService(dataDir, Number(new URL(service.url).port), [], { environment });
    await service.ready;
    const again = [await visitor.post(path, form), await visitor.post(path, form)];
    return { isAnswered, again };
  };

  /** How often an event of a type stands in the log. */
  const recorded = async (type: string): Promise<number> => {
    const token = (await readFile(join(dataDir, 'operator.token'), 'utf8')).trim();
    const response = await fetch(`${service.url}/operator/v1/events?until=head`, {
      headers: { authorization: `Bearer ${token}`, accept: 'application/jsonl' },
    });
    return (await response.text()).split(`"type":"${type}"`).length - 1;
  };

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
