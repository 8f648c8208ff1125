import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { exampleFile, startProgram } from '../support/examples/examples.js';
import { describeWithPython, PythonExample } from '../support/examples/python.js';
import { operationsOf, readDocument } from '../support/http/document.js';
import { startTestService, type RunningService, type Tenant } from '../support/http/service.js';
import { sampleOf } from '../support/runner/effort.js';
import { marker } from '../support/runner/engines.js';
import { eventually } from '../support/time/eventually.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../..', import.meta.url));
const compiled = join(root, 'dist/examples/typescript');

let service: RunningService;
let tenant: Tenant;
before(async () => {
  service = await startTestService();
  tenant = await service.tenant();
});
after(() => service.stop());

/** The languages whose clients are made and run: each takes ten seconds of a processor and more. */
const sampled = sampleOf(['TypeScript', 'Python'], 1, { of: 'generated clients' });

describe('examples/typescript', () => {
  it('has types of the document that the service serves: npm run types makes them anew', async () => {
    const { digestOf } = (await import(exampleFile('typescript/types.mjs'))) as {
      readonly digestOf: (document: unknown) => string;
    };
    const types = readFileSync(exampleFile('typescript/api.d.ts'), 'utf8');
    const [, second] = types.split('\n');
    // What a request may leave out, it may leave out in the types, too.
    for (const field of ['country?: string;', 'limit?: number;', 'zip: string;'])
      expect(types).to.include(`  ${field}`);
    const document = await readDocument(service.baseUrl, '/api/openapi.json');
    expect(second).to.equal(`// ${digestOf(document)}`);
    const changed = (from: string, to: string): unknown =>
      JSON.parse(JSON.stringify(document).replaceAll(from, to));
    expect(digestOf(changed('"message":', '"text":'))).not.to.equal(digestOf(document));
    expect(digestOf(changed('"job_title":', '"job":'))).to.equal(digestOf(document));
    expect(digestOf(changed('"description":"', '"description":"In short: '))).to.equal(digestOf(document));
  });

  if (sampled.includes('TypeScript'))
    it('compiles, and sends one card however often it runs', async function () {
      this.timeout(60_000);
      const tsc = join(root, 'node_modules/typescript/bin/tsc');
      await run(process.execPath, [tsc, '-p', exampleFile('typescript'), '--outDir', compiled]);
      const sent = async (key: string): Promise<readonly [number | null, string]> => {
        const environment = { API_KEY: key, BASE_URL: service.baseUrl };
        const example = startProgram(process.execPath, [join(compiled, 'send.js'), 'order-1'], environment);
        return [await example.ended, example.output()];
      };
      const [code, output] = await sent(tenant.key);
      expect([code, output]).to.deep.equal([0, output]);
      expect(output)
        .to.match(/^HC-\w+ scheduled: The card is scheduled/)
        .and.to.match(/arrives between \d{4}-\d\d-\d\d and \d{4}-\d\d-\d\d/)
        .and.to.match(/\n1 card in all/);
      expect(await sent(tenant.key)).to.deep.equal([0, output]);
      expect((await tenant.api('/api/v1/cards')).rows).to.have.length(1);
      const refused = await sent('hck_wrong');
      expect(refused[0]).to.equal(1);
      expect(refused[1]).to.include('malformed_key: ');
    });
});

const examplePython = (): void => {
  let example: PythonExample;
  let printed: string;
  before(async function () {
    this.timeout(240_000);
    example = new PythonExample(service.baseUrl);
    const prepared = await example.prepare();
    if (prepared !== null) return void (printed = prepared);
    // The end of the run lists it under what turns it on.
    if (this.test?.parent) this.test.parent.title += ` ${marker(['PIP_INDEX_URL'])}`;
    this.skip();
  });
  after(() => example.remove());

  const operations = async (document: string): Promise<readonly string[]> =>
    operationsOf(await readDocument(service.baseUrl, document)).map(({ operationId }) =>
      operationId.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    );

  it('makes a client with every operation of the document, without a warning', async () => {
    expect(printed).not.to.match(/warning|error/i);
    expect(example.operationsOf('handwritten_cards')).to.have.members(await operations('/api/openapi.json'));
  });

  it('makes one of the operator API, too', async function () {
    this.timeout(120_000);
    await example.generate('/openapi.json', 'whole');
    expect(example.operationsOf('whole')).to.have.members(await operations('/openapi.json'));
  });

  it('sends one card however often it runs, saves a contact, and shows what becomes of the card', async function () {
    this.timeout(60_000);
    const first = example.send(tenant.key, 'order-2');
    expect([await first.ended, first.output()]).to.deep.equal([0, first.output()]);
    const [, code = ''] = /^(HC-\w+) scheduled: The card is scheduled/.exec(first.output()) ?? [];
    const card = await tenant.api(`/api/v1/cards/${code}`);
    const { earliest, latest } = card.body['arrives_between'] as Readonly<Record<string, string>>;
    expect(first.output().split('\n').slice(1)).to.deep.equal([
      `arrives between ${earliest} and ${latest}`,
      'contact crm-7: Ada Lovelace',
      'pending, 0 of 6 steps done',
      '',
    ]);
    const again = example.send(tenant.key, 'order-2', 'FOLLOW=60');
    await eventually(() => again.output() === first.output(), { what: 'the same output' });
    await tenant.api(`/api/v1/cards/${code}`, { method: 'DELETE' });
    expect([await again.ended, again.output()]).to.deep.equal([
      0,
      `${first.output()}cancelled, 0 of 6 steps done\n`,
    ]);
  });

  it('says by the code of an error what to do', async function () {
    this.timeout(60_000);
    const poor = await service.tenant({ credits: 0 });
    const refused = example.send(poor.key, 'order-3');
    expect(await refused.ended).to.equal(1);
    expect(refused.output()).to.match(/^Add credits, then run this again with the same key\. no_credits: /);
  });
};

if (sampled.includes('Python')) describeWithPython('examples/python', examplePython);
