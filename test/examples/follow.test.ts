import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { aCard, startTestService, type RunningService, type Tenant } from '../support/http/service.js';
import { eventually } from '../support/time/eventually.js';
import { inboxOf, printed, startExample } from '../support/examples/examples.js';

describe('examples/follow.mjs', () => {
  let directory: string;
  let service: RunningService;
  let tenant: Tenant;
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'card-example-'));
    service = await startTestService();
    tenant = await service.tenant();
  });
  after(async () => {
    await service.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('goes on where it stopped, in order and without repeats', async () => {
    const inbox = join(directory, 'log.jsonl');
    const settings = { BASE_URL: service.baseUrl, OPERATOR_TOKEN: service.operatorToken, INBOX: inbox };
    const sent: string[] = [];
    const send = async (count: number): Promise<void> => {
      for (let made = 0; made < count; made += 1)
        sent.push((await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) })).id);
    };
    const followed = (): readonly unknown[] => inboxOf(inbox).map(({ stream }) => stream);
    const everything = () => eventually(() => followed().length >= sent.length, { what: 'every event' });
    for (const count of [3, 4, 2]) {
      const example = startExample('follow.mjs', settings);
      await send(count);
      await everything();
      await example.kill();
      await send(2);
    }
    // What a crash in the middle of a write leaves behind.
    appendFileSync(inbox, '{"position":"99');
    const last = startExample('follow.mjs', settings);
    await everything();
    await last.kill();
    expect(followed()).to.deep.equal(sent.map((code) => `card-${code}`));
  });

  it('ends and says which setting is missing', async () => {
    const example = startExample('follow.mjs', { INBOX: join(directory, 'none') });
    expect(await example.ended).to.equal(64);
    expect(example.output()).to.match(/^Set OPERATOR_TOKEN .*\n$/);
  });

  it('ends and says why if its token is wrong', async () => {
    const settings = { BASE_URL: service.baseUrl, OPERATOR_TOKEN: 'wrong', INBOX: join(directory, 'none') };
    const example = startExample('follow.mjs', settings);
    expect(await example.ended).to.equal(1);
    expect(await printed(example, 'invalid_key')).to.include('"message"');
  });
});
