import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { guideNames, guidePlace } from '../../../adapters/http/docs/places.js';
import { verifyInNode } from '../../../adapters/http/docs/guides/webhooks.js';
import { programsOnPath, samplesOn, type PageSample } from '../../support/http/docs-samples.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../../support/http/service.js';

const examplesFolder = new URL('../../../../examples/', import.meta.url);
const examples = readdirSync(examplesFolder, { withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ name }) => readFileSync(new URL(name, examplesFolder), 'utf8'));

interface Shown extends PageSample {
  readonly page: string;
}

describe('the samples of the guides', () => {
  let service: RunningService;
  let tenant: Tenant;
  let samples: readonly Shown[];
  let variables: Readonly<Record<string, string>>;

  before(async () => {
    service = await startTestService();
    tenant = await service.tenant();
    const card = await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-06-10' }) });
    const hook = await service.operator(`/operator/v1/organizations/${tenant.org}/hooks`, {
      body: { template: 'Dear {{first_name}}, order {{order.number}} is yours.' },
    });
    variables = { API_KEY: tenant.key, CARD: card.id, HOOK_URL: String(hook.body['url']) };
    const pages = await Promise.all(
      guideNames.map(async (name) => {
        const { path } = guidePlace(name);
        const { text } = await service.anonymous(path);
        return samplesOn(text).map((sample) => ({ ...sample, page: path }));
      }),
    );
    samples = pages.flat();
  });
  after(() => service.stop());

  /**
   * What a sample prints. One that follows a stream is left as soon as it has shown an event: how long the
   * page says to stay is no measure for a slow machine.
   */
  const outputOf = async (sample: string): Promise<string> => {
    const child = spawn('sh', ['-c', sample.replace(/--max-time \d+/, '--max-time 100')], {
      env: { ...programsOnPath, ...variables },
      detached: true,
    });
    let output = '';
    let isLeft = false;
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (isLeft || child.pid === undefined || !/^id: evt_/m.test(output)) return;
      isLeft = true;
      process.kill(-child.pid);
    });
    await once(child, 'close');
    return output;
  };

  const isCall = ({ language, text }: Shown): boolean => language === 'sh' && text.startsWith('curl ');

  it('that call the service work as they stand', async function () {
    this.timeout(300_000);
    const calls = samples.filter((sample) => isCall(sample) && sample.page !== '/docs/quick-start');
    expect(calls).to.have.length.above(9);
    for (const { page, text } of calls)
      expect(await outputOf(text), `${page}: ${text}`).to.match(/"object":"\w+"|^id: evt_/m);
  });

  it('that are programs are those of examples/, or are tested by themselves', () => {
    const programs = samples.filter(({ language }) => language === 'js' || language === 'py');
    expect(programs).to.have.length(3);
    const strangers = programs.filter(
      ({ text }) => text !== verifyInNode && !examples.some((example) => example.includes(text)),
    );
    expect(strangers).to.deep.equal([]);
  });

  it('that run in a terminal and call nothing are commands of the checkout, or files of it', () => {
    const commands = samples.filter((sample) => sample.language === 'sh' && !isCall(sample));
    const known = /^(FLOOR_SIMULATION=on npm start|npm run -s cli -- |export |cat > card\.json)/;
    const strangers = commands.filter(
      ({ text }) => !known.test(text) && !examples.some((example) => example.startsWith(text)),
    );
    expect(strangers).to.deep.equal([]);
  });

  it('show JSON that is JSON', () => {
    for (const { page, text } of samples.filter(({ language }) => language === 'json'))
      expect(() => JSON.parse(text) as unknown, page).not.to.throw();
  });
});
