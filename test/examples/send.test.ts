import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { aCard, startTestService, type RunningService, type Tenant } from '../support/http/service.js';
import { startExample } from '../support/examples/examples.js';

describe('examples/send.sh', () => {
  let directory: string;
  let service: RunningService;
  let tenant: Tenant;
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'card-example-'));
    // The script pauses between two tries; nobody waits for that here.
    writeFileSync(join(directory, 'sleep'), '#!/bin/sh\n');
    chmodSync(join(directory, 'sleep'), 0o755);
    service = await startTestService();
    tenant = await service.tenant();
  });
  after(async () => {
    await service.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  const send = async (key: string, body: object, baseUrl = service.baseUrl) => {
    const file = join(directory, 'card.json');
    writeFileSync(file, JSON.stringify(body));
    const environment = {
      PATH: directory,
      API_KEY: tenant.key,
      BASE_URL: baseUrl,
    };
    const example = startExample('send.sh', environment, [key, file]);
    return { code: await example.ended, output: example.output() };
  };

  it('makes one card, however often it runs', async () => {
    const first = await send('order-1', aCard());
    const again = await send('order-1', aCard());
    expect([first.code, again.code]).to.deep.equal([0, 0]);
    const { id } = JSON.parse(first.output) as { readonly id: string };
    expect(JSON.parse(again.output)).to.have.property('id', id);
    expect((await tenant.api('/api/v1/cards')).rows.map((row) => row['id'])).to.deep.equal([id]);
  });

  it('does not try again what was refused, and shows why', async () => {
    const { code, output } = await send('order-2', { ...aCard(), message: '' });
    expect(code).to.equal(1);
    expect(output).to.include('missing_message');
  });

  it('names a file that is missing, and sends nothing', async () => {
    const file = join(directory, 'none.json');
    const example = startExample('send.sh', { PATH: directory, API_KEY: tenant.key }, ['order-9', file]);
    expect([await example.ended, example.output()]).to.deep.equal([
      64,
      `There is no file ${file} that can be read.\n`,
    ]);
  });

  it('tries again with the same key if the connection breaks or the service fails', async () => {
    const keys: unknown[] = [];
    const server: Server = createServer((request, response) => {
      keys.push(request.headers['idempotency-key']);
      request.resume().on('end', () => {
        if (keys.length === 1) request.socket.destroy();
        else response.writeHead([500, 429, 409, 503][keys.length - 2] ?? 201).end('{}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const gaveUp = await send('order-3', aCard(), baseUrl);
    const done = await send('order-3', aCard(), baseUrl);
    await new Promise((resolve) => server.close(resolve));
    expect([gaveUp.code, done.code]).to.deep.equal([75, 0]);
    expect(keys).to.deep.equal(Array.from({ length: 6 }, () => 'order-3'));
    expect(gaveUp.output).to.include('Idempotency-Key');
  });
});
