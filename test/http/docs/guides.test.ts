import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { verifyInNode } from '../../../adapters/http/docs/guides/webhooks.js';
import { pagesWithSamples, samplesOn, type PageSample } from '../../support/http/docs-samples.js';
import {
  isInstalled,
  languages,
  notRun,
  runAll,
  untilHeard,
  type Language,
} from '../../support/http/sample-programs.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../../support/http/service.js';

const examplesFolder = new URL('../../../../examples/', import.meta.url);
const examples = readdirSync(examplesFolder, { withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ name }) => readFileSync(new URL(name, examplesFolder), 'utf8'));

interface Shown extends PageSample {
  readonly page: string;
}

describe('the samples of the guides, of the first page and of the one for operators', () => {
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
    variables = {
      API_KEY: tenant.key,
      OPERATOR_TOKEN: service.operatorToken,
      CARD: card.id,
      HOOK_URL: String(hook.body['url']),
    };
    const pages = await Promise.all(
      pagesWithSamples.map(async (path) => {
        const { text } = await service.anonymous(path);
        return samplesOn(text).map((sample) => ({ ...sample, page: path }));
      }),
    );
    samples = pages.flat();
  });
  after(() => service.stop());

  const calls: Readonly<Record<string, readonly [Language, RegExp]>> = {
    sh: ['curl', /^curl /],
    js: ['Node', /^const response = await fetch\(/],
    py: ['Python', /^request = urllib\.request\.Request\(/m],
  };
  /** The language of a sample that calls the service; null if it is something else. */
  const languageOf = ({ language, text }: Shown): Language | null => {
    const [name, call] = calls[language] ?? [];
    return name !== undefined && call?.test(text) === true ? name : null;
  };
  const isStream = ({ text }: Shown): boolean => text.includes('text/event-stream');

  for (const language of languages)
    (isInstalled(language) ? it : it.skip)(
      `that call the service with ${language} work as they stand`,
      async function () {
        this.timeout(120_000);
        const found = samples.filter(
          (sample) => languageOf(sample) === language && !sample.text.includes('@card.json'),
        );
        const named = new Map(found.map((sample, at) => [`${at} of ${sample.page}`, sample]));
        const textsOf = (wanted: (sample: Shown) => boolean) =>
          new Map([...named].flatMap(([name, sample]) => (wanted(sample) ? [[name, sample.text]] : [])));
        expect(named.size).to.be.above(16);
        const finite = textsOf((sample) => !isStream(sample));
        const results = await runAll(language, finite, variables);
        const failed = [...finite.keys()].flatMap((name) => {
          const { status, output } = results.get(name) ?? notRun;
          return status >= 200 && status < 300 ? [] : [`${name}: ${output}`];
        });
        expect(failed.join('\n')).to.equal('');
        await untilHeard(language, textsOf(isStream), variables, async () => {
          await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
        });
      },
    );

  it('that are programs are those of examples/, or are tested by themselves', () => {
    const programs = samples.filter(
      (sample) => ['js', 'py'].includes(sample.language) && languageOf(sample) === null,
    );
    expect(programs).to.have.length(4);
    const strangers = programs.filter(
      ({ text }) => text !== verifyInNode && !examples.some((example) => example.includes(text)),
    );
    expect(strangers).to.deep.equal([]);
  });

  it('that run in a terminal and call nothing are commands of the checkout, or files of it', () => {
    const commands = samples.filter((sample) => sample.language === 'sh' && languageOf(sample) === null);
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
