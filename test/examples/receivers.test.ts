import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { SystemClock } from '../../adapters/system/clock.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../support/http/service.js';
import { authority, receiverSettings, startReceiver, type Receiver } from '../support/http/receiver.js';
import { eventually } from '../support/time/eventually.js';
import { inboxOf, printed, startExample, type RunningExample } from '../support/examples/examples.js';

const hasPython = spawnSync('python3', ['--version']).status === 0;

/** The ids in an example's inbox. */
const idsInFile = (path: string): readonly unknown[] => inboxOf(path).map(({ id }) => id);
const idsInDatabase = (path: string): readonly unknown[] =>
  JSON.parse(
    spawnSync('python3', [
      '-c',
      'import json, sqlite3, sys; print(json.dumps([row[0] for row in sqlite3.connect(sys.argv[1]).execute("SELECT id FROM events ORDER BY rowid")]))',
      path,
    ]).stdout.toString(),
  ) as readonly unknown[];

for (const { name, idsOf, isThere } of [
  { name: 'receiver.mjs', idsOf: idsInFile, isThere: true },
  { name: 'receiver.py', idsOf: idsInDatabase, isThere: hasPython },
]) {
  (isThere ? describe : describe.skip)(`examples/${name}`, () => {
    let directory: string;
    let service: RunningService;
    let tenant: Tenant;
    /** Speaks TLS for the example, as a proxy in front of it does, and keeps what it passed on. */
    let proxy: Receiver;
    let example: RunningExample;
    let address: string;
    let settings: Readonly<Record<string, string>>;

    const start = async (): Promise<void> => {
      example = startExample(name, settings);
      address = /listening on (\S+)/.exec(await printed(example, /listening on \S+\n/))?.[1] ?? '';
    };
    const post = async (headers: Readonly<Record<string, unknown>>, body: string): Promise<number> => {
      const passed = Object.entries(headers).filter(([header]) => /^(service-|content-type)/.test(header));
      const response = await fetch(address, {
        method: 'POST',
        headers: Object.fromEntries(passed.map(([header, value]) => [header, String(value)])),
        body: Buffer.from(body, 'latin1'),
      });
      return response.status;
    };

    before(async () => {
      directory = mkdtempSync(join(tmpdir(), 'card-example-'));
      service = await startTestService(receiverSettings, new SystemClock(), [authority.cert]);
      tenant = await service.tenant();
      proxy = await startReceiver((response, { headers, body }) => {
        post(headers, body).then(
          (status) => response.writeHead(status).end(),
          () => response.writeHead(502).end(),
        );
      });
      const endpoint = await tenant.api('/api/v1/webhooks', { body: { url: proxy.url } });
      const secret = String(endpoint.body['signing_secret']);
      settings = { WEBHOOK_SECRET: secret, PORT: '0', INBOX: join(directory, 'inbox') };
      await start();
    });
    after(async () => {
      await example.kill();
      await service.stop();
      await proxy.close();
      rmSync(directory, { recursive: true, force: true });
    });

    const eventIds = (): readonly unknown[] => [
      ...new Set(proxy.received.map(({ body }) => (JSON.parse(body) as { readonly id: string }).id)),
    ];
    const isDelivered = async (card: string): Promise<true> =>
      eventually(async () => {
        const log = await service.operator(
          `/operator/v1/organizations/${tenant.org}/deliveries?card=${card}`,
        );
        expect(log.rows.map(({ status }) => status)).to.deep.equal(['delivered']);
        return true as const;
      });

    it('keeps each event once, however often it is delivered and restarted', async () => {
      const { id } = await tenant.api('/api/v1/cards', { body: aCard() });
      await isDelivered(id);
      const [first] = proxy.received;
      expect(await post(first?.headers ?? {}, first?.body ?? '')).to.equal(204);
      await example.kill();
      await start();
      expect(await post(first?.headers ?? {}, first?.body ?? '')).to.equal(204);
      const second = await tenant.api('/api/v1/cards', { body: aCard({ message: 'Grüße, Zoë.' }) });
      await isDelivered(second.id);
      expect(idsOf(settings['INBOX'] ?? ''))
        .to.deep.equal(eventIds())
        .and.to.have.length(2);
    });

    it('ends and says which setting is missing', async () => {
      const stopped = startExample(name, { INBOX: join(directory, 'none') });
      expect(await stopped.ended).to.equal(64);
      expect(stopped.output()).to.equal('Set WEBHOOK_SECRET to the signing secret of your endpoint.\n');
    });

    it('refuses what was changed, is not signed, or is signed for another time', async () => {
      const { id } = await tenant.api('/api/v1/cards', { body: aCard() });
      await isDelivered(id);
      const last = proxy.received.at(-1);
      const { headers = {}, body = '' } = last ?? {};
      const signature = String(headers['service-signature']);
      const refused = [
        [headers, body.replace('card.created', 'card.mailed')],
        [{ ...headers, 'service-signature': '' }, body],
        [{ ...headers, 'service-signature': signature.replace(/t=\d+/, 't=1700000000') }, body],
        [{ ...headers, 'service-signature': signature.replace(/t=\d+/, 't=x') }, body],
        [{ ...headers, 'service-signature': signature.replace(/v1=[0-9a-f]{8}/, 'v1=00000000') }, body],
      ] as const;
      for (const [sent, bytes] of refused) expect(await post(sent, bytes)).to.equal(400);
      expect(idsOf(settings['INBOX'] ?? '')).to.deep.equal(eventIds());
    });
  });
}
