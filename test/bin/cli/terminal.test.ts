import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommandLine } from '../../../bin/cli/program.js';
import { command } from '../../support/servers/programs.js';
import { startTestService, type RunningService } from '../../support/http/service.js';

const checkout = fileURLToPath(new URL('../../../../', import.meta.url));

describe('the command line at a terminal', () => {
  let service: RunningService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const at = (answer: boolean) => {
    const asked: string[] = [];
    let error = '';
    const run = (...words: readonly string[]): Promise<number> =>
      runCommandLine(words, {
        environment: { BASE_URL: service.baseUrl, DATA_DIR: service.dataDir },
        write: () => undefined,
        complain: (text) => void (error += text),
        confirm: (question) => {
          asked.push(question);
          return Promise.resolve(answer);
        },
      });
    return { run, asked, error: () => error };
  };

  it('asks before what can’t be undone, and does nothing without a yes', async () => {
    const { org, keyId, api } = await service.tenant();
    const no = at(false);
    expect(await no.run('key', 'revoke', keyId, '--org', org)).to.equal(1);
    expect([no.asked, no.error()]).to.deep.equal([['Revoke this key for good?'], 'Nothing was done.\n']);
    expect((await api('/api/v1/account')).status).to.equal(200);
    for (const words of ['promote', 'log accept-restore --by Ada', 'personal give-up --by Ada']) {
      const each = at(false);
      expect([await each.run(...words.split(' ')), each.error()]).to.deep.equal([1, 'Nothing was done.\n']);
    }
    const yes = at(true);
    expect(await yes.run('key', 'revoke', keyId, '--org', org)).to.equal(0);
    expect(yes.asked.length).to.equal(1);
    expect((await api('/api/v1/account')).status).to.equal(401);
  });

  it('does not ask with --yes, nor before what can be undone, nor where there is no terminal', async () => {
    const { org, keyId } = await service.tenant();
    const asking = at(false);
    expect(await asking.run('org', 'suspend', org)).to.equal(0);
    expect(await asking.run('key', 'revoke', keyId, '--org', org, '--yes')).to.equal(0);
    expect(asking.asked).to.deep.equal([]);
    const other = await service.tenant();
    const { code } = await command(['key', 'revoke', other.keyId, '--org', other.org], {
      BASE_URL: service.baseUrl,
      DATA_DIR: service.dataDir,
    });
    expect(code).to.equal(0);
  });

  it('finds the service at --base-url, wherever that stands, whatever the settings say', async () => {
    const elsewhere = {
      HOST: '127.0.0.1',
      PORT: '1',
      OPERATOR_PORT: '2',
      BASE_URL: 'http://127.0.0.1:3',
      DATA_DIR: service.dataDir,
    };
    const ways = [
      ['--base-url', service.baseUrl, 'org', 'list'],
      ['org', 'list', `--base-url=${service.baseUrl}/`],
    ];
    for (const words of ways) expect((await command(words, elsewhere)).code, words.join(' ')).to.equal(0);
    expect((await command(['org', 'list'], elsewhere)).code).to.equal(69);
    expect((await command(['org', 'list', '--base-url', 'nonsense'], elsewhere)).code).to.equal(2);
    const here = { BASE_URL: service.baseUrl, DATA_DIR: service.dataDir };
    for (const words of [['--base-url', ''], ['--base-url='], ['--base-url', ' ']])
      expect((await command(['org', 'list', ...words], here)).code).to.equal(2);
    expect((await command(['org', 'list', '--base-url'], elsewhere)).code).to.equal(2);
  });

  it('names the server that it can’t reach', async () => {
    const servers = {
      EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
      MONGODB_URL: 'mongodb://127.0.0.1:1',
      RABBITMQ_URL: 'amqp://127.0.0.1:1',
      DATA_DIR: service.dataDir,
    };
    const { code, error } = await command(['backup', `${service.dataDir}/none`], servers);
    expect([code, error]).to.deep.equal([69, error]);
    expect(error).to.match(/^MongoDB: .*127\.0\.0\.1:1\n$/);
  });

  it('fails if a file has no room for all of its output', () => {
    const limited = 'ulimit -f 2; exec "$0" dist/bin/cli.js --help >"$1"';
    const file = join(service.dataDir, 'help');
    const { status, stderr } = spawnSync('sh', ['-c', limited, process.execPath, file], {
      cwd: checkout,
      encoding: 'utf8',
    });
    expect([status, stderr]).to.deep.equal([1, 'EFBIG: file too large, write\n']);
  });

  it('is npx handwritten-cards in the checkout', async () => {
    const { stdout, status } = spawnSync('npx', ['--no-install', 'handwritten-cards', '--version'], {
      cwd: checkout,
      encoding: 'utf8',
    });
    expect([status, stdout]).to.deep.equal([0, (await command(['--version'], {})).out]);
  });
});
