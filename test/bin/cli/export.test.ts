import { expect } from 'chai';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseNote, signerFrom, signNote, vkeyOf } from '../../../domain/signed-note.js';
import { withShortWrites } from '../../support/fixtures/short-writes.js';
import { command, type Ended } from '../../support/servers/programs.js';
import { eventually } from '../../support/time/eventually.js';
import { aCard, startTestService, type RunningService, type Tenant } from '../../support/http/service.js';

describe('exports on the command line', () => {
  let service: RunningService;
  let tenant: Tenant;
  let folder: string;
  let key: string;
  before(async () => {
    service = await startTestService();
    tenant = await service.tenant({ credits: 5 });
    folder = await mkdtemp(join(tmpdir(), 'cards-exports-'));
    key = (await (await fetch(`${service.baseUrl}/log/key`)).text()).trim().split('\n')[0] ?? '';
  });
  after(async () => {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /**
   * An export waits for half a minute only until everything is signed; the notary of a busy machine may take
   * longer.
   */
  const cli = async (...args: readonly string[]): Promise<Ended> => {
    if (args[0] === 'export')
      await eventually(async () => {
        const { body } = await service.operator('/operator/v1/anchor');
        return body['tree_size'] === Number(body['position']) ? true : null;
      });
    return command(args, { BASE_URL: service.baseUrl, DATA_DIR: service.dataDir });
  };
  const offline = (...args: readonly string[]): Promise<Ended> =>
    command(args, { BASE_URL: 'http://127.0.0.1:9', DATA_DIR: folder });
  const at = (name: string): string => join(folder, name);

  it('are taken out, and checked without the service', async () => {
    const body = aCard({ arrive_on: '2099-01-01', design_id: 'card:thank-you-botanical' });
    const { id: code } = await tenant.api('/api/v1/cards', { body });
    await tenant.api(`/api/v1/cards/${code}`, { method: 'DELETE' });
    const taken = await cli('export', 'card', String(code), '--out', at('card'), '--personal', 'include');
    expect([taken.code, taken.error]).to.deep.equal([0, '']);
    const printed = await cli('export', 'period', '--from', '0', '--organization', tenant.org);
    await writeFile(at('period'), printed.out);
    await writeFile(at('org'), (await cli('export', 'org', tenant.org)).out);
    const front = await cli('export', 'card', String(code), '--with-artwork');
    await writeFile(at('front'), front.out);
    expect(front.out).to.match(/"artwork":true}\n[^]*"bytes":"\/9j\//);
    for (const name of ['card', 'period', 'org', 'front']) {
      const { code: exit, out } = await offline('log', 'verify', at(name), '--key', key, '--deep', 'true');
      expect([name, exit, out.trimEnd().split('\n').at(-1)]).to.deep.equal([name, 0, 'VERIFIED']);
    }
    await writeFile(
      at('changed'),
      (await readFile(at('card'), 'utf8')).replace('CardCancelled', 'CardFailed'),
    );
    const changed = await offline('log', 'verify', at('changed'), '--key', key);
    expect([changed.code, changed.out.includes('NOT VERIFIED')]).to.deep.equal([1, true]);
  });

  it('are checked for as many witnesses as are asked for', async () => {
    const golden = fileURLToPath(new URL('../../../../test/golden/exports', import.meta.url));
    const { log, witness } = JSON.parse(await readFile(join(golden, 'keys.json'), 'utf8')) as {
      readonly log: string;
      readonly witness: string;
    };
    const stranger = vkeyOf(signerFrom('witness.example/2', 'cosignature', Buffer.alloc(32, 9)));
    const check = async (...options: readonly string[]) => {
      const file = join(golden, 'sealed.card.jsonl');
      const { code, out } = await offline('log', 'verify', file, '--key', log, ...options);
      const line = out.split('\n').find((each) => each.includes('enough witnesses')) ?? '';
      return [code, line, out.trimEnd().split('\n').at(-1)];
    };
    const right = [0, 'PASS  enough witnesses have signed it', 'VERIFIED'];
    const wrong = (least: number) => [
      1,
      `FAIL  enough witnesses have signed it: fewer than ${least} have`,
      'NOT VERIFIED',
    ];
    expect(await check('--witness', witness)).to.deep.equal(right);
    expect(await check('--witness', `${witness},${stranger}`, '--quorum', '1')).to.deep.equal(right);
    expect(await check('--witness', `${witness},${stranger}`)).to.deep.equal(wrong(2));
    expect(await check('--witness', stranger, '--quorum', '1')).to.deep.equal(wrong(1));
    expect(await check('--quorum', '1')).to.deep.equal(wrong(1));
    const older = join(golden, 'sealed.older');
    expect((await check('--anchor', older))[2]).to.equal('VERIFIED');
    expect((await check('--anchor', join(golden, 'another-log.older')))[2]).to.equal('NOT VERIFIED');
  });

  it('name the option or the file that is wrong', async () => {
    await writeFile(at('mine'), 'mine');
    const wanted: readonly (readonly [args: readonly string[], says: string])[] = [
      [['log', 'verify', at('none'), '--key', key], `${at('none')} can't be read`],
      [['log', 'verify', at('none')], '--key'],
      [['log', 'verify', '--key', key], 'file'],
      [['log', 'verify', at('mine'), '--key', key, '--quorum', 'two'], '--quorum'],
      [['export', 'card'], 'code'],
      [['export', 'period', '--since', '1', '--til', '2'], '--til'],
    ];
    for (const [args, says] of wanted) {
      const { code, error } = await offline(...args);
      expect([args, code !== 0, error.includes(says)], error).to.deep.equal([args, true, true]);
    }
  });

  it('overwrite no file, and say what to do', async () => {
    await writeFile(at('mine'), 'mine');
    const { code, error } = await offline('export', 'org', tenant.org, '--out', at('mine'));
    expect([code, error]).to.satisfy(
      ([exit, text]: [number, string]) =>
        exit === 1 && text.includes(`${at('mine')} already exists`) && text.includes('--out'),
    );
    expect(await readFile(at('mine'), 'utf8')).to.equal('mine');
    const nowhere = await cli('export', 'org', tenant.org, '--out', at('nowhere/org'));
    expect([nowhere.code, nowhere.error]).to.satisfy(
      ([exit, text]: [number, string]) =>
        exit === 1 && text.startsWith(`${at('nowhere/org')} can't be written`),
    );
  });

  it('are whole where the system writes less at once, and removed where it can not write all', async () => {
    const taken = () => cli('export', 'org', tenant.org, '--out', at('short'));
    const full = await withShortWrites(taken, 1_000);
    expect([full.code, full.out, full.error]).to.deep.equal([
      1,
      '',
      `${at('short')} can't be written, and was removed: ENOSPC: no space left on device, write\n`,
    ]);
    expect(await withShortWrites(taken)).to.include({ code: 0, error: '' });
    const checked = await offline('log', 'verify', at('short'), '--key', key);
    expect(checked.out.trimEnd().split('\n').at(-1)).to.equal('VERIFIED');
  });

  it('say how far they have come if that takes long, and so do checks', async () => {
    let now = 0;
    const slow = () => (now += 60_000);
    const settings = { BASE_URL: service.baseUrl, DATA_DIR: service.dataDir };
    const taken = await command(['export', 'org', tenant.org, '--out', at('slow')], settings, slow);
    expect(taken.code).to.equal(0);
    expect(taken.error).to.match(/^(\d+\.\d MB written to \S+ \.\.\.\n)+$/);
    const checked = await command(['log', 'verify', at('slow'), '--key', key], settings, slow);
    expect(checked.code).to.equal(0);
    expect(checked.error).to.match(/^(\d+\.\d of \d+\.\d MB checked \.\.\.\n)+$/);
    const quick = await command(['log', 'verify', at('slow'), '--key', key], settings);
    expect([quick.code, quick.error]).to.deep.equal([0, '']);
  });

  it('rest on a log that is seen to grow, and whose fork is seen', async () => {
    const watch = () => cli('log', 'watch', '--state', at('seen'), '--key', key, '--json');
    const first = await watch();
    expect([first.code, JSON.parse(first.out).before]).to.deep.equal([0, null]);
    const seen = await readFile(at('seen'), 'utf8');
    await cli('export', 'org', tenant.org);
    await tenant.api('/api/v1/cards', { body: aCard({ arrive_on: '2099-01-01' }) });
    await cli('export', 'org', tenant.org);
    const second = await watch();
    const { size, before } = JSON.parse(second.out);
    expect([second.code, before]).to.deep.equal([0, JSON.parse(first.out).size]);
    expect(size).to.be.greaterThan(before);
    const stranger = signerFrom('cards.example.com/log', 'note', Buffer.alloc(32, 9));
    await writeFile(at('seen'), signNote(parseNote(seen).text, [stranger]));
    expect((await watch()).code).to.equal(1);
  });
});
