import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect } from 'chai';
import type { Part } from '../../adapters/http/server/health.js';
import { backUp } from '../../bin/cli/backup.js';
import { seed } from '../bench/seed.js';
import { eventually } from '../support/time/eventually.js';
import { aCard, clientsOf, type Reply, type Tenant } from '../support/http/service.js';
import { freePort } from '../support/servers/ports.js';
import { run } from '../support/servers/programs.js';
import { spawnService, type ServiceProcess } from './service-process.js';

/** Whether this program runs successfully on this machine. */
const works = (program: string, ...args: readonly string[]): boolean =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0;

describe('a service whose disk', function () {
  let dataDir: string;
  let port: number;
  let mounted = false;
  const running: ServiceProcess[] = [];
  before(async () => {
    port = await freePort();
  });
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'cards-disk-'));
  });
  afterEach(async () => {
    for (const service of running.splice(0)) await service.end('SIGKILL');
    if (mounted) mounted = !works('umount', dataDir);
    await rm(dataDir, { recursive: true, force: true });
  });

  const spawned = (wrapped: readonly string[] = []): ServiceProcess => {
    const service = spawnService(dataDir, port, wrapped);
    running.push(service);
    return service;
  };
  /** A running service and a tenant of it; `below` is the data directory as the service sees it. */
  const started = async (wrapped: readonly string[] = []) => {
    const service = spawned(wrapped);
    await service.ready;
    const below = wrapped.length === 0 ? dataDir : join('/proc', String(service.pid), 'root', dataDir);
    const operatorToken = (await readFile(join(below, 'operator.token'), 'utf8')).trim();
    return {
      service,
      below,
      tenant: await clientsOf({ baseUrl: service.url, operatorToken }).tenant({ credits: 1_000_000 }),
    };
  };

  /** So that the service does not queue the card by itself meanwhile, whatever day it is. */
  const notDue = '2099-01-01';
  const send = ({ api }: Tenant, key: string | null = null): Promise<Reply> =>
    api('/api/v1/cards', {
      body: aCard({ message: 'x'.repeat(500), arrive_on: notDue }),
      headers: key === null ? {} : { 'idempotency-key': key },
    });
  const readable = async ({ api }: Tenant, code: string): Promise<readonly number[]> =>
    Promise.all(
      ['/account', '/credits', '/designs', '/cards', `/cards/${code}`, '/contacts'].map(
        async (path) => (await api(`/api/v1${path}`)).status,
      ),
    );

  /**
   * Breaks the disk and mends it: while it is broken, no card and no credit may be lost or created, and reads
   * must still work.
   */
  const endures = async (
    tenant: Tenant,
    broken: () => Promise<unknown>,
    mended: () => Promise<unknown>,
  ): Promise<void> => {
    const { id, text } = await send(tenant, 'an earlier key');
    let sent = 1;
    await broken();
    const failure = await eventually(async () => {
      const reply = await send(tenant);
      if (reply.status === 201) sent += 1;
      return reply.status === 201 ? null : reply;
    });
    expect([failure.status, failure.code]).to.deep.equal([500, 'order_failed']);
    for (let round = 0; round < 5; round += 1) {
      const reply = await send(tenant);
      expect([reply.status, reply.code]).to.deep.equal([500, 'order_failed']);
      expect(await readable(tenant, id)).to.deep.equal([200, 200, 200, 200, 200, 200]);
      expect(await tenant.balance()).to.equal(1_000_000 - sent);
    }
    // Keys can still be looked up; only the card fails.
    const withKey = await send(tenant, 'a-key');
    expect([withKey.status, withKey.code]).to.deep.equal([500, 'order_failed']);
    const replayed = await send(tenant, 'an earlier key');
    expect([replayed.status, replayed.text, replayed.headers.get('idempotent-replay')]).to.deep.equal([
      201,
      text,
      'true',
    ]);
    await mended();
    const keyed = await eventually(async () => {
      const reply = await send(tenant, 'a-key');
      return reply.status === 201 ? reply : null;
    });
    expect(await tenant.balance()).to.equal(1_000_000 - sent - 1);
    // The projector has met the broken disk, too: it tries again within five seconds.
    await eventually(async () => (await tenant.api('/api/v1/cards?limit=1')).rows[0]?.['id'] === keyed.id);
  };

  it('is full refuses cards with order_failed, charges nothing, keeps serving reads, and recovers by itself', async function () {
    if (!works('unshare', '-m', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt')) return this.skip();
    const { below, tenant } = await started([
      'unshare',
      '-m',
      'sh',
      '-c',
      `mount -t tmpfs -o size=12m tmpfs ${dataDir} && exec "$@"`,
      'sh',
    ]);
    const filler = join(below, 'filler');
    const fill = () =>
      writeFile(filler, Buffer.alloc(16 * 1024 * 1024)).catch((error: unknown) =>
        expect(error).to.have.property('code', 'ENOSPC'),
      );
    await endures(tenant, fill, () => rm(filler));
  });

  it('is full refuses a restore, which succeeds once there is room', async function () {
    const { service } = await started();
    await service.end('SIGKILL');
    const copy = `${dataDir}.copy`;
    await backUp(copy, { DATA_DIR: dataDir });
    mounted = works('mount', '-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', dataDir);
    if (!mounted) return this.skip();
    const filler = join(dataDir, 'filler');
    await writeFile(filler, Buffer.alloc(16 * 1024 * 1024)).catch(() => undefined);
    const restore = () => run('cli', ['restore', copy], { DATA_DIR: dataDir });
    expect((await restore()).error).to.include('Free some space on its disk');
    await rm(filler);
    expect((await restore()).out).to.include(`Restored to ${dataDir}`);
    await rm(copy, { recursive: true });
  });

  it('is full is not ready, refuses at once, says so once a second, and is ready by itself when there is room', async function () {
    mounted = works('mount', '-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', dataDir);
    if (!mounted) return this.skip();
    const { service, tenant } = await started();
    const codes: string[] = [];
    const sendOne = async (key: string | null = null): Promise<Reply> => {
      const reply = await send(tenant, key);
      if (reply.status === 201) codes.push(reply.id);
      return reply;
    };
    const diskOf = async () => {
      const response = await fetch(`${service.url}/readyz`);
      const { parts } = (await response.json()) as { readonly parts: readonly Part[] };
      return { status: response.status, disk: parts.find(({ name }) => name === 'disk') };
    };
    for (let count = 0; count < 20; count += 1) await sendOne();
    await eventually(async () => (await diskOf()).status === 200);
    const filler = join(dataDir, 'filler');
    const fill = () =>
      writeFile(filler, Buffer.alloc(16 * 1024 * 1024), { flag: 'a' }).catch(() => undefined);
    await fill();
    await eventually(async () => (await sendOne()).status !== 201);
    const failedAt = performance.now();
    const { status, disk } = await diskOf();
    expect([status, disk?.ready, disk?.detail]).to.deep.equal([503, false, 'database or disk is full']);
    expect(performance.now() - failedAt).to.be.lessThan(1_000);

    // Each takes a key for personal data, and in the end there are none: what leaves room is filled again.
    const saidBefore = service.lines().length;
    const took: number[] = [];
    const refused = async (): Promise<void> => {
      const began = performance.now();
      const reply = await sendOne(took.length % 2 === 0 ? null : `key ${took.length}`);
      took.push(performance.now() - began);
      expect([reply.status, reply.code]).to.deep.equal([500, 'order_failed']);
    };
    for (let flight = 0; flight < 70; flight += 1) {
      await fill();
      await Promise.all(Array.from({ length: 20 }, refused));
    }
    // They waited for five seconds. Here much else has to be done at the same time.
    expect(Math.max(...took)).to.be.lessThan(3_000);
    const flights = took.length;
    for (let count = 0; count < 21; count += 1) await refused();
    expect(took.slice(flights).toSorted((a, b) => a - b)[10]).to.be.lessThan(50);
    const seconds = (performance.now() - failedAt) / 1_000;
    const said = service.lines().slice(saidBefore);
    expect(said.length, said.join('\n')).to.be.within(1, Math.ceil(seconds) + 1);
    expect(said.at(-1)).to.include('disk is full');
    expect(await readable(tenant, codes[0] ?? '')).to.deep.equal([200, 200, 200, 200, 200, 200]);
    expect((await diskOf()).status).to.equal(503);

    await rm(filler);
    await eventually(async () => (await diskOf()).status === 200);
    expect((await sendOne('key 1')).status).to.equal(201);
    await service.end('SIGKILL');
    const again = spawned();
    await again.ready;
    await eventually(async () => (await diskOf()).status === 200);
    for (const code of codes) expect((await tenant.api(`/api/v1/cards/${code}`)).status).to.equal(200);
    expect(await tenant.balance()).to.equal(1_000_000 - codes.length);
  }).timeout(240_000);

  it('is read-only refuses cards with order_failed, charges nothing, keeps serving reads, and recovers by itself', async function () {
    if (!works('strace', '-f', '-o', '/dev/null', 'true')) return this.skip();
    const { service, tenant } = await started();
    const writes = 'pwrite64,ftruncate,fallocate';
    const inject = [
      '-f',
      '-p',
      String(service.pid),
      '-o',
      '/dev/null',
      '-e',
      `trace=${writes}`,
      '-e',
      `inject=${writes}:error=EROFS`,
    ];
    let tracer: ReturnType<typeof spawn> | null = null;
    const attach = async () => {
      const strace = spawn('env', ['strace', ...inject], { stdio: ['ignore', 'ignore', 'pipe'] });
      tracer = strace;
      await once(strace.stderr, 'data');
    };
    const detach = async () => {
      tracer?.kill('SIGINT');
      await (tracer === null ? null : once(tracer, 'exit'));
      tracer = null;
    };
    try {
      await endures(tenant, attach, detach);
    } finally {
      await detach();
    }
  });

  interface Written {
    readonly copy: string;
    readonly tenant: Tenant;
    readonly shown: string;
  }
  let whole: Written | null = null;
  after(async () => {
    if (whole !== null) await rm(whole.copy, { recursive: true, force: true });
  });
  const write = async (): Promise<Written> => {
    const { service, tenant } = await started();
    for (let count = 0; count < 10; count += 1) await send(tenant);
    const shown = (await tenant.api('/api/v1/cards')).text;
    expect(await service.end('SIGTERM')).to.equal(0);
    const copy = await mkdtemp(join(tmpdir(), 'cards-disk-'));
    await cp(dataDir, copy, { recursive: true });
    return { copy, tenant, shown };
  };
  /** A directory with ten cards whose process has ended cleanly. It is made once and copied. */
  const written = async (): Promise<Written & { readonly path: string }> => {
    whole ??= await write();
    await cp(whole.copy, dataDir, { recursive: true });
    return { ...whole, path: join(dataDir, 'events.db') };
  };
  const tamper = (path: string, sql: string): void => {
    const database = new DatabaseSync(path);
    database.exec(sql);
    database.exec('pragma wal_checkpoint(truncate)');
    database.close();
  };
  const refusal = async (): Promise<readonly [number | null, string]> => {
    const service = spawned();
    service.ready.catch(() => undefined);
    return [await service.ended, service.stderr()];
  };

  it('holds a damaged log does not start: exit code 1, and an error that names the position', async () => {
    tamper(
      (await written()).path,
      `delete from log_tree; update events set data = replace(data, 'a', 'b') where position = 25`,
    );
    const [code, said] = await refusal();
    expect([code, said.includes('position 25')], said).to.deep.equal([1, true]);
  });

  it('holds a truncated log does not start: exit code 1, and an error that names the position', async () => {
    const { path } = await written();
    tamper(path, '');
    await truncate(path, (await stat(path)).size - 4096);
    const [code, said] = await refusal();
    expect([code, /position \d+/.test(said)], said).to.deep.equal([1, true]);
  });

  it('holds damage far back starts, finds it while it runs, and ends with exit code 1 and an error that names the position', async () => {
    // There is so much to verify that the service listens long before it reaches the damage.
    const { events } = await seed(dataDir, 4_000, { produced: false });
    tamper(
      join(dataDir, 'events.db'),
      `insert or replace into log_tree (id, size, roots, position, epoch) values (1, ${events}, x'', ${events}, 0); update events set data = replace(data, 'Everyday', 'Everydax') where position = ${events - 5}`,
    );
    const service = spawned();
    await service.ready;
    expect([await service.ended, service.stderr()]).to.deep.equal([
      1,
      `The event log is damaged at position ${events - 5}: its hash does not match its content. Restore events.db from a backup.\n`,
    ]);
    // The verifying thread gets only the processor time that is left over.
  }).timeout(300_000);

  for (const [what, spoil] of [
    ['has lost read.db', (path: string) => rm(path)],
    [
      'has damaged read.db',
      async (path: string) => {
        const file = await open(path, 'r+');
        await file.write(Buffer.alloc(8192, 7), 0, 8192, 0);
        await file.close();
      },
    ],
  ] as const)
    it(`${what} shows the same cards as before`, async () => {
      const { tenant, shown } = await written();
      await spoil(join(dataDir, 'read.db'));
      await spawned().ready;
      expect(await eventually(async () => (await tenant.api('/api/v1/cards')).text === shown)).to.equal(true);
      expect(await tenant.balance()).to.equal(1_000_000 - 10);
    });
});
