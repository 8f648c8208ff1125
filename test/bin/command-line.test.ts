import { expect } from 'chai';
import { parseInput } from '../../bin/cli/verb.js';
import { verbs } from '../../bin/cli/verbs.js';
import { house } from '../../domain/members.js';
import { operationsOf, readDocument } from '../support/http/document.js';
import { command, run, start, type Ended } from '../support/servers/programs.js';
import { eventually } from '../support/time/eventually.js';
import {
  aCard,
  clientOf,
  startTestService,
  type Fields,
  type RunningService,
} from '../support/http/service.js';

const later = { arrive_on: '2099-01-01' };

describe('the command line', () => {
  let service: RunningService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const environment = (): Readonly<Record<string, string>> => ({
    BASE_URL: service.baseUrl,
    DATA_DIR: service.dataDir,
  });
  const cli = (line: string, settings = environment()): Promise<Ended> =>
    command(line === '' ? [] : line.split(' '), settings);
  /** Runs it with `--json`, expects success, and returns the response. */
  const ask = async (line: string): Promise<Fields> => {
    const { code, out, error } = await cli(`${line} --json`);
    expect([code, error], line).to.deep.equal([0, '']);
    return JSON.parse(out) as Fields;
  };

  it('has a command for every operation of the operator API', async () => {
    const options: Record<string, string> = {
      org: 'org',
      email: 'a@b',
      amount: '1',
      scopes: 'cards:read',
      active: 'true',
      paused: 'true',
      step: 'packed',
      from: '0',
      endpoint: 'id',
      to: '9',
      limit: '5',
    };
    const calls = [options, { ...options, house: 'true', org: '' }].flatMap((given) =>
      verbs.map(({ call }) => call(parseInput('thing', given))),
    );
    const reached = (method: string, template: string): boolean => {
      const path = new RegExp(`^${template.replace('/operator/v1', '').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
      return calls.some((call) => call.method === method && path.test(call.path.split('?')[0] ?? ''));
    };
    const operations = operationsOf(await readDocument(service.baseUrl)).filter(({ path }) =>
      path.startsWith('/operator/v1'),
    );
    const missing = operations
      .filter(({ method, path }) => !reached(method, path))
      .map(({ method, path }) => `${method} ${path}`);
    // These are no JSON: webhook listen, events watch, export, log proof. The first is the command `console`.
    expect(missing).to.have.members([
      'POST /operator/v1/console-links',
      'GET /operator/v1/organizations/{org}/deliveries/stream',
      'GET /operator/v1/events',
      'GET /operator/v1/exports',
      'GET /operator/v1/log/proof',
    ]);
  });

  it('creates an organization and works on its cards', async () => {
    const { id: org } = await ask('org create --name Acme --house-hand elegant');
    expect(await ask(`org update --org ${String(org)} --house-hand architect`)).to.deep.equal({
      id: org,
      name: 'Acme',
      house_hand: 'Architect',
      suspended: false,
    });
    const [credits, key, design] = await Promise.all([
      ask(`credits add --org ${String(org)} --amount 3 --reason gift`),
      ask(
        `key create --org ${String(org)} --scopes cards:send,cards:read --label shop --requests-per-minute 50`,
      ),
      ask(`design save --org ${String(org)} --name Autumn`),
    ]);
    expect([credits, key['scopes'], key['label'], design['name']]).to.deep.equal([
      { balance: 3 },
      ['cards:send', 'cards:read'],
      'shop',
      'Autumn',
    ]);
    const { tenant } = service;
    const owner = await tenant();
    const send = async () => (await owner.api('/api/v1/cards', { body: aCard(later) })).id;
    const code = await send();
    const lines = [
      'hold {} --reason why',
      'release {}',
      'queue {}',
      'step {} --step card_stock_prepared --status in_progress --machine m1',
      'fail {} --reason torn',
    ];
    const seen: unknown[] = [];
    for (const line of lines) seen.push((await ask(`card ${line.replace('{}', code)}`))['status']);
    expect(seen).to.deep.equal(['blocked', 'pending', 'queued', 'in_production', 'failed']);
    const [shown, history, cancelled, anchor] = await Promise.all([
      ask(`card show ${code.toLowerCase()}`),
      ask(`card history ${code}`),
      ask(`card cancel ${await send()}`),
      ask('anchor show'),
    ]);
    expect(shown).to.deep.equal((await service.operator(`/operator/v1/cards/${code}`)).body);
    expect(history).to.deep.equal((await service.operator(`/operator/v1/cards/${code}/history`)).body);
    expect([cancelled['cancelled'], typeof anchor['position']]).to.deep.equal([true, 'string']);
    const revoked = await ask(`key revoke ${String(key['id'])} --org ${String(org)}`);
    expect(revoked).to.deep.equal({ id: key['id'], revoked: true });
  });

  it('shows responses in a form for people, too', async () => {
    const { org, keyId } = await service.tenant();
    const { code, out, error } = await cli(`key list --org ${org}`);
    expect([code, error]).to.deep.equal([0, '']);
    expect(out).to.include(keyId).and.include('cards:send');
    expect(out).not.to.match(/^[{[]/);
  });

  it('watches the log until it is interrupted', async () => {
    const watching = start('cli', ['events', 'watch', '--category', 'card', '--json'], environment());
    const { api } = await service.tenant();
    const { id } = await api('/api/v1/cards', { body: aCard(later) });
    await eventually(() => watching.out().includes(`card-${id}`));
    watching.kill('SIGINT');
    watching.kill('SIGINT');
    expect((await watching.ended).code).to.equal(0);
  });

  it('ends silently if its output is closed', async () => {
    const watching = start('cli', ['events', 'watch', '--json'], environment());
    await eventually(() => watching.out() !== '');
    watching.leave();
    const { api } = await service.tenant();
    await api('/api/v1/cards', { body: aCard(later) });
    const { code, error } = await watching.ended;
    expect([code, error]).to.deep.equal([0, '']);
  });

  it('accepts field names as options, and a list in one option or in several', async () => {
    const { org } = await service.tenant();
    const key = await ask(
      `key create --org ${org} --scopes cards:send --scopes cards:read,contacts:read --requests_per_minute=7`,
    );
    expect(key['scopes']).to.deep.equal(['cards:send', 'cards:read', 'contacts:read']);
    const { headers } = await clientOf(service.baseUrl, String(key['key']))('/api/v1/cards');
    expect(headers.get('x-ratelimit-limit')).to.equal('7');
    const spaced = await command(
      ['key', 'create', org, '--scopes', ' cards:send, cards:read  contacts:read', '--json'],
      environment(),
    );
    expect((JSON.parse(spaced.out) as Fields)['scopes']).to.deep.equal(key['scopes']);
    expect((await ask(`hook create --org ${org} --label my_hook --signed_by Bob_B`))['token']).to.be.a(
      'string',
    );
    const { data } = await ask(`hook list --org ${org}`);
    expect(data).to.have.nested.property('[0].label', 'my_hook');
    expect(data).to.have.nested.property('[0].signed_by', 'Bob_B');
  });

  it('finds the service through HOST and PORT, and the token in its file', async () => {
    const settings = {
      HOST: '127.0.0.1',
      PORT: String(service.port),
      OPERATOR_TOKEN_FILE: `${service.dataDir}/operator.token`,
    };
    expect((await cli('anchor show --json', settings)).code).to.equal(0);
  });

  it('exits with 1 if the service refuses, and with --json prints the response unchanged', async () => {
    const { code, out, error } = await cli('card show HC-0000000 --json');
    expect([code, (JSON.parse(out) as { error: { code: string } }).error.code]).to.deep.equal([
      1,
      'card_not_found',
    ]);
    expect(error).to.include('card_not_found');
    const plain = await cli('credits add --org 00000000-0000-4000-8000-000000000000 --amount 1');
    expect([plain.code, plain.out]).to.deep.equal([1, '']);
    expect(plain.error).to.match(/not_found/);
  });
  for (const line of ['', 'nonsense', 'card', 'card frob', 'card show', 'card hold HC-0000000', 'org create', 'org create --name x --colour red', 'credits add --amount 1', 'credits add --org x --amount many', 'handwriting put x --active maybe', 'card show a b', 'card show ', 'backup ', 'webhook list ', 'webhook list --org ', 'org create --name ', 'log accept-restore --by ', 'personal give-up --by=\t', 'org create --name A --name B', 'org create --name --house-hand', 'hook create --org --signed-by x', 'org show x --org y', 'org list --base-url ftp://x'])
    it(`exits with 2 for wrong usage: cli ${line}`, async () => {
      const { code, out, error } = await cli(line);
      expect([code, out]).to.deep.equal([2, '']);
      expect(error).not.to.equal('');
    }); // prettier-ignore
  it('names the option that has no value, and takes no other one for it', async () => {
    const { error } = await cli('org create --name --json');
    expect(error).to.equal('--name has no value: --json follows. Give it one: its name.\n');
  });
  it('knows the option for an organization by both of its names', async () => {
    const { org, api } = await service.tenant();
    const { id } = await api('/api/v1/cards', { body: aCard(later) });
    for (const line of [`--org ${org}`, `--organization ${org}`, `--organization=${org}`, org])
      expect((await ask(`card list ${line}`))['data'], line)
        .to.have.length(1)
        .and.nested.property('[0].id', id);
    expect(await ask(`credits show --organization ${org}`)).to.have.property('balance');
  });
  it('exits with 2 if the settings give no address', async () => {
    for (const wrong of [{ BASE_URL: 'nonsense' }, { HOST: 'two words' }, { BASE_URL: 'ftp://x' }]) {
      const { code, error } = await cli('anchor show', { DATA_DIR: service.dataDir, ...wrong });
      expect(code).to.equal(2);
      expect(error).to.match(/is no address/);
    }
    for (const name of ['PORT', 'OPERATOR_PORT'])
      for (const port of ['x', '-1', '65536'])
        expect(await cli('anchor show', { DATA_DIR: service.dataDir, [name]: port })).to.include({
          code: 2,
          error: `${name} must be a whole number from 0 to 65535, not "${port}".\n`,
        });
    // It asks no service.
    const { error } = await cli('log verify nowhere.jsonl --key k', { PORT: 'x' });
    expect(error).to.include('nowhere.jsonl').and.not.include('PORT');
  });
  it('exits with 2 if the token file holds no token', async () => {
    const { code, error } = await cli('anchor show', {
      ...environment(),
      OPERATOR_TOKEN_FILE: 'package.json',
    });
    expect(code).to.equal(2);
    expect(error).to.match(/package\.json holds no operator token/);
  });
  it('is a program with standard output, standard error and an exit code', async () => {
    const done = await run('cli', ['anchor', 'show', '--json'], environment());
    expect([done.code, done.error]).to.deep.equal([0, '']);
    expect(JSON.parse(done.out)).to.have.property('position');
    const wrong = await run('cli', ['card', 'frob'], environment());
    expect([wrong.code, wrong.out]).to.deep.equal([2, '']);
    expect(wrong.error).to.match(/unknown command 'frob'/);
  });
  it('exits with 69 if the service can’t be reached', async () => {
    const { code, out, error } = await cli('anchor show', {
      ...environment(),
      BASE_URL: 'http://127.0.0.1:1',
    });
    expect([code, out]).to.deep.equal([69, '']);
    expect(error).to.match(/reached/);
  });
  it('prints its version', async () => {
    const { version } = (await service.anonymous('/healthz')).body;
    expect(await cli('--version')).to.deep.equal({ code: 0, out: `${String(version)}\n`, error: '' });
  });

  it('prints help', async () => {
    const { code, out } = await cli('--help');
    expect(code).to.equal(0);
    for (const noun of ['org', 'credits', 'key', 'design', 'hook', 'card', 'delivery', 'webhook'])
      expect(out).to.match(new RegExp(`^ +${noun} `, 'm'));
    const helpOf = async (verb: string) => (await cli(`${verb} --help`)).out.replaceAll(/\s+/g, ' ');
    expect(await helpOf('member invite')).to.include(
      `--org <value> id of the organization; ${house} for the service's own people (required, here or right after the verb)`,
    );
    expect(await helpOf('webhook listen')).to.include(
      '--org <value> id of the organization, for the operator --key',
    );
  });
});
