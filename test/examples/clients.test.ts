import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import {
  exampleFile,
  startProgram,
  startExample,
  type RunningExample,
} from '../support/examples/examples.js';
import { readDocument } from '../support/http/document.js';
import { startTestService, type RunningService, type Tenant } from '../support/http/service.js';

const run = promisify(execFile);
const hasPython = spawnSync('python3', ['--version']).status === 0;
const root = fileURLToPath(new URL('../../..', import.meta.url));
const compiled = join(root, 'dist/examples/typescript');

let service: RunningService;
let tenant: Tenant;
before(async () => {
  service = await startTestService();
  tenant = await service.tenant();
});
after(() => service.stop());

/** Runs an example twice for one order, and once for what is refused. */
const sendsOneCard = async (
  order: string,
  start: (key: string, args: readonly string[]) => RunningExample,
): Promise<void> => {
  const printedBy = async (key: string): Promise<readonly [number | null, string]> => {
    const example = start(key, [order]);
    return [await example.ended, example.output()];
  };
  const before = (await tenant.api('/api/v1/cards')).rows.length;
  const [code, output] = await printedBy(tenant.key);
  expect([code, output]).to.deep.equal([0, output]);
  expect(output)
    .to.match(/^HC-\w+ scheduled: The card is scheduled/)
    .and.to.match(/arrives between \d{4}-\d\d-\d\d and \d{4}-\d\d-\d\d/)
    .and.to.match(new RegExp(`\\n${before + 1} (cards? )?in all`));
  expect(await printedBy(tenant.key)).to.deep.equal([0, output]);
  expect((await tenant.api('/api/v1/cards')).rows).to.have.length(before + 1);
  const refused = await printedBy('hck_wrong');
  expect(refused[0]).to.equal(1);
  expect(refused[1]).to.include('malformed_key: ');
};

describe('examples/typescript', () => {
  it('has types of the document that the service serves: npm run types makes them anew', async () => {
    const { digestOf } = (await import(exampleFile('typescript/types.mjs'))) as {
      readonly digestOf: (document: unknown) => string;
    };
    const [, second] = readFileSync(exampleFile('typescript/api.d.ts'), 'utf8').split('\n');
    const document = await readDocument(service.baseUrl, '/api/openapi.json');
    expect(second).to.equal(`// ${digestOf(document)}`);
    const changed = (from: string, to: string): unknown =>
      JSON.parse(JSON.stringify(document).replaceAll(from, to));
    expect(digestOf(changed('"message":', '"text":'))).not.to.equal(digestOf(document));
    expect(digestOf(changed('"job_title":', '"job":'))).to.equal(digestOf(document));
    expect(digestOf(changed('"description":"', '"description":"In short: '))).to.equal(digestOf(document));
  });

  it('compiles, and sends one card however often it runs', async () => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, '-p', exampleFile('typescript'), '--outDir', compiled]);
    await sendsOneCard('order-1', (key, args) =>
      startProgram(process.execPath, [join(compiled, 'send.js'), ...args], {
        API_KEY: key,
        BASE_URL: service.baseUrl,
      }),
    );
  });
});

(hasPython ? describe : describe.skip)('examples/client.py', () => {
  it('has the operations of the document, and sends one card however often it runs', () =>
    sendsOneCard('order-2', (key, args) =>
      startExample('client.py', { API_KEY: key, BASE_URL: service.baseUrl }, args),
    ));
});
