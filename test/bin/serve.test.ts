import { expect } from 'chai';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { explain } from '../../bin/wiring/exit.js';
import { startService } from '../../bin/wiring/service.js';
import { readSettings } from '../../bin/settings/settings.js';
import { eventually } from '../support/time/eventually.js';
import { run, start, type Ended, type Running } from '../support/servers/programs.js';
import { aCard, clientOf, type Client } from '../support/http/service.js';
import { requestsOfADrain, sendAll } from '../support/http/balanced.js';
import { Visitor } from '../support/http/visitor.js';

interface Started extends Running {
  readonly baseUrl: string;
  /** The lines that are no log lines. */
  readonly lines: readonly string[];
  readonly demo: Client;
}

describe('the service as a process', () => {
  let directory: string;
  const running: Running[] = [];
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-process-'));
  });
  afterEach(async () => {
    for (const each of running.splice(0)) {
      each.kill('SIGKILL');
      await each.ended;
    }
    await rm(directory, { recursive: true, force: true });
  });

  const plain = (out: string): readonly string[] =>
    out.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  const serve = async (environment: Readonly<Record<string, string>> = {}): Promise<Started> => {
    const each = start('serve', [], { PORT: '0', DATA_DIR: directory, ...environment });
    running.push(each);
    let over: Ended | null = null;
    void each.ended.then((ended) => (over = ended));
    await eventually(
      () =>
        (each.out().includes('"listening"') && /^Handwritten Card Service: .*\n/m.test(each.out())) ||
        over !== null,
      {
        what: 'a listening service',
      },
    );
    if (over !== null) throw new Error(`it ended: ${JSON.stringify(over)}`);
    const lines = plain(each.out());
    const baseUrl = /http:\/\/[^\s]+/.exec(lines[0] ?? '')?.[0] ?? '';
    return {
      ...each,
      baseUrl,
      lines,
      demo: clientOf(baseUrl, /hck_[\w-]{43}/.exec(lines.join('\n'))?.[0] ?? null),
    };
  };
  const stop = (each: Running): Promise<Ended> => {
    each.kill('SIGTERM');
    return each.ended;
  };

  it('makes a demo organization on its first start, keeps everything, and prints no key on the second', async () => {
    const first = await serve();
    const [address, key, , curl] = first.lines;
    expect(address).to.match(/http:\/\/127\.0\.0\.1:\d+$/);
    expect(key).to.match(/hck_[\w-]{43}$/);
    expect(curl).to.match(/^curl .*hck_[\w-]{43}/);
    expect(curl).to.include(`${first.baseUrl}/api/v1/cards`);
    const account = (await first.demo('/api/v1/account')).body;
    expect(account['scopes']).to.have.length(5);
    expect((await first.demo('/api/v1/credits')).body['balance']).to.equal(1_000);
    expect((await first.demo('/api/v1/designs')).rows.length).to.equal(1);
    const body = /-d '(.*)'$/.exec(curl ?? '')?.[1] ?? '';
    const sent = await first.demo('/api/v1/cards', { body, headers: { 'idempotency-key': 'one' } });
    expect(sent.status).to.equal(201);
    for (const name of await readdir(directory))
      expect([name, (await stat(join(directory, name))).mode & 0o077]).to.deep.equal([name, 0]);
    const token = await readFile(join(directory, 'operator.token'), 'utf8');
    expect(await stop(first)).to.include({ code: 0, error: '' });
    const databases = ['events.db', 'keys.db', 'read.db'];
    for (const name of databases) await chmod(join(directory, name), 0o644);
    const logged = first
      .out()
      .split('\n')
      .slice(0, -1)
      .filter((line) => !first.lines.includes(line));
    for (const line of logged) expect(() => void JSON.parse(line), line).not.to.throw();

    const second = await serve({ BASE_URL: first.baseUrl, PORT: new URL(first.baseUrl).port });
    expect(second.lines.join('\n')).not.to.match(/hck_|curl/);
    for (const name of await readdir(directory))
      expect([name, (await stat(join(directory, name))).mode & 0o077]).to.deep.equal([name, 0]);
    expect(second.baseUrl).to.equal(first.baseUrl);
    expect((await first.demo('/api/v1/account')).body).to.deep.equal(account);
    expect((await first.demo('/api/v1/credits')).body['balance']).to.equal(999);
    expect((await first.demo(`/api/v1/cards/${sent.id}`)).id).to.equal(sent.id);
    const replay = await first.demo('/api/v1/cards', { body, headers: { 'idempotency-key': 'one' } });
    expect([replay.text, replay.headers.get('idempotent-replay')]).to.deep.equal([sent.text, 'true']);
    expect(await readFile(join(directory, 'operator.token'), 'utf8')).to.equal(token);
    const { version } = (await clientOf(second.baseUrl, null)('/healthz')).body;
    expect(version).to.match(/^\d+\.\d+\.\d+/);
    expect(second.out()).to.match(new RegExp(`"version":"${String(version)}".*"listening"`));
  });

  it('prints a link on its first start, which leads to the cards of the demo organization with one click', async () => {
    const { baseUrl, lines, demo } = await serve();
    const link = /http:\/\/\S+\/console\/\S+/.exec(lines.join('\n'))?.[0] ?? '';
    const { id } = await demo('/api/v1/cards', { body: aCard() });
    const newcomer = new Visitor({ baseUrl });
    const entered = await newcomer.submit(new URL(link).pathname, 'enterDemo');
    const start = await newcomer.get(entered.location ?? '');
    const home = await newcomer.get(start.location ?? '');
    expect(home.text).to.include('999').and.to.include(id);
    const order = await newcomer.get(`/cards/${id}`);
    expect([order.status, order.text.includes('Card for')]).to.deep.equal([200, true]);
    expect((await newcomer.get(new URL(link).pathname)).text).not.to.include('enterDemo');
  });

  it('lets no second process at its data, and leaves no lock behind when it is killed', async () => {
    const first = await serve({ DEMO: 'off' });
    expect(first.lines.length).to.equal(1);
    const second = await run('serve', [], { PORT: '0', DATA_DIR: directory });
    expect([second.code, plain(second.out)]).to.deep.equal([1, []]);
    expect(second.error)
      .to.include(directory)
      .and.match(/in use/);
    expect((await clientOf(first.baseUrl, null)('/healthz')).status).to.equal(200);
    first.kill('SIGKILL');
    await first.ended;
    const third = await serve();
    expect((await third.demo('/api/v1/account')).status).to.equal(200);
  });

  it('says what it found of a run that was killed, and nothing of one that was stopped', async () => {
    const said = (service: Started): unknown => {
      const line = service.out().match(/^.*the previous run was not stopped cleanly.*$/m)?.[0];
      return line === undefined ? null : JSON.parse(line);
    };
    const first = await serve({ LOG_LEVEL: 'info' });
    expect(said(first)).to.equal(null);
    first.kill('SIGKILL');
    await first.ended;
    const second = await serve({ LOG_LEVEL: 'info' });
    expect(said(second)).to.include({ unfinished_commits: 0 }).and.to.include.keys('events');
    expect(said(second)).to.have.property('recovered_commits').above(0);
    await stop(second);
    expect(said(await serve({ LOG_LEVEL: 'info' }))).to.equal(null);
  });

  it('finishes what is running when it is told to stop, and accepts nothing new', async () => {
    const service = await serve();
    const body = JSON.stringify(aCard());
    const key = /hck_[\w-]{43}/.exec(service.lines.join('\n'))?.[0];
    const { port } = new URL(service.baseUrl);
    const half = connect(Number(port), '127.0.0.1');
    let seen = '';
    half.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    half.write(
      `POST /api/v1/cards HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 20)}`,
    );
    await service.demo('/api/v1/account');
    service.kill('SIGTERM');
    await eventually(() => service.out().includes('"stopping"'));
    // What npm passes on besides.
    service.kill('SIGINT');
    service.kill('SIGTERM');
    await eventually(async () => {
      try {
        await fetch(`${service.baseUrl}/healthz`);
        return false;
      } catch {
        return true;
      }
    });
    half.write(body.slice(20));
    expect((await service.ended).code).to.equal(0);
    expect(seen).to.match(/^HTTP\/1.1 201 /);
  });

  it('loses no request while a balancer has not noticed yet that it stops, and stops at once if it is told twice', async () => {
    const service = await serve({ DRAIN: '10m', RATE_LIMIT_PER_MINUTE: '1000000000' });
    const endpoint = await service.demo('/api/v1/webhooks', { body: { url: 'https://hooks.example.com/' } });
    const count = requestsOfADrain;
    const answers = await sendAll({
      count,
      key: /hck_[\w-]{43}/.exec(service.lines.join('\n'))?.[0] ?? '',
      target: (number) => {
        // As a supervisor does that sends it to npm, too.
        if (number === count / 4) for (const signal of ['SIGTERM', 'SIGTERM'] as const) service.kill(signal);
        return service.baseUrl;
      },
      what: () => ['/api/v1/account'],
    });
    expect(answers).to.deep.equal({ 200: count });
    const replay = `/api/v1/webhooks/${endpoint.id}/replay`;
    expect((await service.demo(replay, { body: { from: '0' } })).status).to.equal(202);
    const readiness = await fetch(`${service.baseUrl}/readyz`);
    expect([readiness.status, readiness.headers.get('connection')]).to.deep.equal([503, 'close']);
    expect(((await readiness.json()) as { parts: unknown }).parts).to.deep.include({
      name: 'process',
      ready: false,
      detail: 'stopping',
    });
    let code: number | null = null;
    void service.ended.then((ended) => (code = ended.code));
    await eventually(() => {
      service.kill('SIGTERM');
      return code !== null;
    });
    expect(code).to.equal(0);
  });

  it('takes the operator token that stands in its file', async () => {
    const file = join(directory, 'my.token');
    await writeFile(file, ' my-own-token-of-more-than-32-characters \n', { mode: 0o600 });
    const { baseUrl } = await serve({ OPERATOR_TOKEN_FILE: file });
    expect(
      (await clientOf(baseUrl, 'my-own-token-of-more-than-32-characters')('/operator/v1/anchor')).status,
    ).to.equal(200);
    expect(await readFile(file, 'utf8')).to.equal(' my-own-token-of-more-than-32-characters \n');
  });

  it('shows the address of BASE_URL, whatever it listens on, and warns once of an old Node', async () => {
    const service = await serve({ BASE_URL: 'https://cards.example/api-root/', LOG_LEVEL: 'info' });
    expect(service.lines[0]).to.match(/https:\/\/cards\.example\/api-root$/);
    const port = /^Listening on: http:\/\/127\.0\.0\.1:(\d+)$/.exec(service.lines[1] ?? '')?.[1];
    expect(service.out()).to.include(`"port":${port}`);
    const warnings = process.versions.node.startsWith('20.') ? 1 : 0;
    expect(service.out().split('Node 24 is recommended').length - 1).to.equal(warnings);
    const { error } = (await (await fetch(`http://127.0.0.1:${port}/nothing`)).json()) as {
      error: { docs: string };
    };
    expect(error.docs).to.equal('https://cards.example/api-root/docs/errors/not_found');
  });

  it('works on queued cards by itself where the floor is simulated', async () => {
    const service = await serve({ FLOOR_SIMULATION: '50ms' });
    const token = (await readFile(join(directory, 'operator.token'), 'utf8')).trim();
    const { id } = await service.demo('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    await clientOf(service.baseUrl, token)(`/operator/v1/cards/${id}/queue`, { method: 'POST' });
    await eventually(async () => (await service.demo(`/api/v1/cards/${id}`)).body['status'] === 'posted', {});
  });

  const wrong: Readonly<Record<string, readonly string[]>> = {
    PORT: ['x', '-1', '65536', '80.5'],
    HOST: ['a b', 'http://127.0.0.1', '127.0.0.1:8080'],
    BASE_URL: [
      'cards.example',
      'ftp://cards.example',
      'http://two words',
      'http://user@cards.example',
      'http://cards.example?x=1',
      'http://:80',
    ],
    EVENTSTORE_URL: ['http://x', 'esdb://x:none'],
    MONGODB_URL: ['localhost:27017', 'mongodb://a:1,b:65536'],
    RABBITMQ_URL: ['http://x', 'amqp://guest:guest@x:badport'],
    OPERATOR_HOST: ['a b'],
    OPERATOR_PORT: ['x', '65536'],
    DEMO: ['yes'],
    RATE_LIMIT_PER_MINUTE: ['0', '1000000001', 'x', '1.5'],
    HOOK_RATE_LIMIT_PER_MINUTE: ['0', '1000000001', 'x', '1.5'],
    HOOK_CALL_KEEP: ['0d', '30', 'x'],
    REQUEST_LOG_KEEP: ['0d', '90', 'x'],
    MAX_CONNECTIONS: ['0', '1000001', 'x', '1.5'],
    TRUSTED_PROXIES: ['10.0.0.1', 'nginx'],
    TIME_ZONE: ['Mars/Olympus'],
    PRODUCTION_DAYS: ['-1', '61', 'two'],
    MAIL_DAYS: ['-1', '61'],
    WEBHOOK_BACKOFF: ['1m,', '1 hour', '5'],
    WEBHOOK_TIMEOUT: ['10', '-1s', '0s'],
    WEBHOOK_DISABLE_AFTER: ['0', 'x'],
    WEBHOOK_ALLOW_NETWORKS: ['10.0.0.0', '10.0.0.0/33'],
    WEBHOOK_ALLOW_PORTS: ['0', '65536', 'https'],
    FLOOR_SIMULATION: ['maybe', '5'],
    CLAIM_TIMEOUT: ['60', 'soon'],
    RECONCILE_AFTER: ['1w'],
    DRAIN: ['1', '-1s'],
    LOG_LEVEL: ['loud'],
  };
  /** The end of a start that is refused, by the program's own steps in this process. */
  const refusal = async (
    environment: Readonly<Record<string, string>>,
  ): Promise<ReturnType<typeof explain>> => {
    try {
      const fail = (error: unknown): void => {
        throw error;
      };
      const service = await startService({
        settings: readSettings(environment),
        role: 'all',
        clock: new SystemClock(),
        entropy: new SystemEntropy(),
        log: pino({ level: 'silent' }),
        fail,
      });
      await service.stop();
      return { code: 0, message: 'it started' };
    } catch (error) {
      return explain(error);
    }
  };

  it('refuses some of the servers with 78, and names those that are missing', async () => {
    const servers = {
      EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
      MONGODB_URL: 'mongodb://127.0.0.1:1',
      RABBITMQ_URL: 'amqp://127.0.0.1:1',
    };
    const names = Object.keys(servers);
    for (let chosen = 1; chosen < 2 ** names.length - 1; chosen += 1) {
      const isSet = (name: string): boolean => (chosen & (1 << names.indexOf(name))) !== 0;
      const some = Object.fromEntries(Object.entries(servers).filter(([name]) => isSet(name)));
      const missing = names.filter((name) => !isSet(name)).join(' and ');
      expect(await refusal({ DATA_DIR: directory, ...some })).to.deep.equal({
        code: 78,
        message: `These settings are wrong:\n  ${missing} must be set, too: the service runs on EventStoreDB, MongoDB and RabbitMQ together, or on files with none of them`,
      });
    }
  });

  it('ends with the exit code and the message of a refusal', async () => {
    const environment = { DATA_DIR: directory, PORT: 'x', DEMO: 'yes' };
    const { code, message } = await refusal(environment);
    expect(code).to.equal(78);
    expect(message).to.match(/ PORT .* DEMO /s);
    expect(await run('serve', [], environment)).to.deep.equal({ code, out: '', error: `${message}\n` });
  });
  it('refuses wrong settings with 78, and names all of them at once', async () => {
    const longest = Math.max(...Object.values(wrong).map((values) => values.length));
    for (let at = 0; at < longest; at++) {
      const named = Object.entries(wrong).flatMap(([name, values]) =>
        values[at] === undefined ? [] : [[name, values[at]] as const],
      );
      const { code, message } = await refusal({ DATA_DIR: directory, ...Object.fromEntries(named) });
      expect(code).to.equal(78);
      for (const [name] of named) expect(message).to.match(new RegExp(`^ *${name} `, 'm'));
      for (const name of Object.keys(wrong).filter((each) => !named.some(([given]) => given === each)))
        expect(message).not.to.match(new RegExp(`^ *${name} `, 'm'));
    }
  });
  it('refuses a path of the settings that is none with 78, and says which', async () => {
    const file = join(directory, 'a-file');
    await writeFile(file, '', { mode: 0o600 });
    const settings = [
      { DATA_DIR: file },
      { DATA_DIR: join(file, 'below') },
      { DATA_DIR: '/proc/none' },
      { DATA_DIR: directory, OPERATOR_TOKEN_FILE: directory },
      { DATA_DIR: join(directory, 'new'), SECRET_KEY_FILE: file },
    ];
    for (const each of settings) {
      const { code, message } = await refusal({ PORT: '0', ...each });
      expect(code, message).to.equal(78);
      expect(message)
        .to.include(Object.values(each).at(-1))
        .and.not.match(/^ +at /m);
    }
  });
  it('refuses a secret key file that is not what it should be with 78, and says which', async () => {
    const file = join(directory, 'keys');
    const line = (id: string, byte: number, length = 32): string =>
      `${id}:${Buffer.alloc(length, byte).toString('base64')}`;
    const cases = [
      ['', /no key/],
      ['nonsense', /each line/],
      [line('a', 1, 31), /each line/],
      [`${line('a', 1)}\n${line('a', 2)}`, /two lines/],
    ] as const;
    for (const [content, complaint] of cases) {
      await writeFile(file, content, { mode: 0o600 });
      const { code, message } = await refusal({
        PORT: '0',
        DATA_DIR: join(directory, 'data'),
        SECRET_KEY_FILE: file,
      });
      expect(code, message).to.equal(78);
      expect(message).to.include(file).and.match(complaint);
    }
  });
  it('ends with 1 where its port is taken, says so, and leaves the demo key to the next start', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const { code, error } = await run('serve', [], { DATA_DIR: directory, PORT: String(port) });
    taken.close();
    expect(code).to.equal(1);
    expect(error).to.match(/listen/);
    expect((await (await serve()).demo('/api/v1/account')).status).to.equal(200);
  });
});
