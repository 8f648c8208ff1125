import { expect } from 'chai';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { SystemClock } from '../../../adapters/system/clock.js';
import { eventually } from '../../support/time/eventually.js';
import { authority, receiverHost, receiverSettings } from '../../support/http/receiver.js';
import { aCard, startTestService, type RunningService } from '../../support/http/service.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const readme = new URL('../../../../README.md', import.meta.url);
const verifier = fileURLToPath(new URL('../../../adapters/webhook-receiver/verify.js', import.meta.url));

/** The code block of the README that receives webhooks. */
const example = async (): Promise<string> => {
  const [, section = ''] = (await readFile(readme, 'utf8')).split('## Receive webhooks');
  const [, block] = /```ts\n([^]*?)```/.exec(section) ?? [];
  if (block === undefined) throw new Error('the README shows no receiver');
  return block;
};

/** What the example takes for granted. */
const surroundings = `
const queued = new Map();
const queue = { add: (delivery, event) => queued.set(delivery, event) };
const warnings = [];
const console = { warn: (problem) => warnings.push(problem) };
const process = { env: {} };
`;

interface Receiving {
  readonly app: RequestListener;
  /** What the example has put into its queue, by delivery. */
  readonly queued: ReadonlyMap<string, { readonly type: string; readonly data: object }>;
  readonly warnings: readonly string[];
  readonly process: { readonly env: { WEBHOOK_SECRET?: string } };
}

describe('the receiver that the README shows', () => {
  let directory: string;
  let service: RunningService;
  let receiving: Receiving;
  let server: Server;
  before(async () => {
    // Beside the verifier, as the README tells to copy it, and below the project, whose Express it imports.
    directory = await mkdtemp(join(here, 'receiver-'));
    await cp(verifier, join(directory, 'verify.js'));
    await writeFile(
      join(directory, 'receiver.js'),
      `${surroundings}${await example()}\nexport { app, queued, warnings, process };\n`,
    );
    receiving = (await import(pathToFileURL(join(directory, 'receiver.js')).href)) as Receiving;
    const { app } = receiving;
    server = createServer(authority.issue([receiverHost]), app);
    await new Promise<void>((resolve) => server.listen(0, receiverHost, resolve));
    service = await startTestService(receiverSettings, new SystemClock(), [authority.cert]);
  });
  after(async () => {
    await service.stop();
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
    await rm(directory, { recursive: true, force: true });
  });

  it('takes in what the service sends, and refuses what another secret has signed', async () => {
    const {
      queued,
      warnings,
      process: { env: environment },
    } = receiving;
    const { api, org } = await service.tenant();
    const url = `https://${receiverHost}:${(server.address() as AddressInfo).port}/webhooks/cards`;
    const { body } = await api('/api/v1/webhooks', { body: { url } });
    const attempted = (id: string, status: number) =>
      eventually(async () => {
        const [row] = (await service.operator(`/operator/v1/organizations/${org}/deliveries?card=${id}`))
          .rows;
        expect(row?.['attempts']).to.have.nested.property('[0].http_status', status);
        return row ?? {};
      });
    environment.WEBHOOK_SECRET = String(body['signing_secret']);
    const { id } = await api('/api/v1/cards', { body: aCard({ reference: 'order-1' }) });
    const delivery = await attempted(id, 204);
    const data = { card: id, recipient: 'Ada Lovelace', reference: 'order-1', heldReason: null };
    expect([...queued].map(([name, event]) => [name, event.type, event.data])).to.deep.equal([
      [delivery['id'], 'card.created', data],
    ]);

    environment.WEBHOOK_SECRET = `whsec_${Buffer.alloc(32).toString('base64')}`;
    const other = await api('/api/v1/cards', { body: aCard() });
    await attempted(other.id, 400);
    expect([queued.size, warnings]).to.deep.equal([1, ['wrong_signature']]);
  });
});
