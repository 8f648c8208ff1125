import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { read } from '../../support/runner/repository.js';
import { exported, happened, notarized, storedEvents, vkey } from '../../support/fixtures/notarized.js';
import { org } from '../../support/fixtures/world.js';

const path = 'adapters/log-verifier/verify.mjs';
const text = read(path);

describe('the verifier of exports', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'verifier-'));
    writeFileSync(join(folder, 'verify.mjs'), text);
  });
  after(() => rmSync(folder, { recursive: true }));

  const run = (...args: readonly string[]) => {
    const { status, stdout } = spawnSync(process.execPath, ['verify.mjs', ...args], {
      cwd: folder,
      env: {},
      encoding: 'utf8',
    });
    return { status, last: stdout.trimEnd().split('\n').at(-1) };
  };

  it('checks a card, an organization and a period in a folder that holds nothing else', async () => {
    const { world, codes } = await happened(['send', 'cancel', 'another organization buys', 'send']);
    const [code] = codes;
    if (code === undefined) throw new Error('no card was sent');
    const deps = await notarized(world, await storedEvents(world));
    const checkpoint = (await deps.tiles.newest())?.note ?? '';
    writeFileSync(join(folder, 'older'), checkpoint);
    const files = {
      card: await exported(deps, { kind: 'card', code }, { personal: true }),
      organization: await exported(deps, { kind: 'organization', org }),
      period: await exported(deps, { kind: 'period', org, from: 4n, to: null }),
    };
    for (const [name, file] of Object.entries(files)) {
      writeFileSync(join(folder, name), file);
      expect(run(name, '--key', vkey, '--anchor', 'older'), name).to.deep.equal({
        status: 0,
        last: 'VERIFIED',
      });
    }
    writeFileSync(join(folder, 'changed'), files.card.toString().replace('CardScheduled', 'CardHeld'));
    expect(run('changed', '--key', vkey)).to.deep.equal({ status: 1, last: 'NOT VERIFIED' });
    expect(run('card', '--key', vkey, '--quorum', '1')).to.deep.equal({ status: 1, last: 'NOT VERIFIED' });
    expect(run('card', '--key', vkey, '--quorum', 'many')).to.deep.equal({ status: 1, last: 'NOT VERIFIED' });
    for (const wrong of [
      ['card'],
      ['missing', '--key', vkey],
      ['card', '--key', vkey, '--anchor', 'missing'],
      // What was not understood, or not checked, is never taken for verified.
      ['card', '--key', vkey, '--wittness', vkey],
      ['card', 'changed', '--key', vkey],
      ['card', '--key', vkey, '--witness', vkey, '--quorum'],
      ['card', '--key', vkey, '--anchor', ''],
      ['--key', vkey],
      [],
    ])
      expect(run(...wrong), wrong.join(' ')).to.deep.equal({ status: 1, last: 'NOT VERIFIED' });
    expect(readdirSync(folder).sort()).to.deep.equal(
      ['card', 'changed', 'older', 'organization', 'period', 'verify.mjs'],
    ); // prettier-ignore
  });

  it('is one file for strangers to read: its lines are short, and it imports nothing but parts of Node.js', () => {
    const lines = text.split('\n');
    expect(lines.filter((line) => line.length > 110)).to.deep.equal([]);
    const imports = lines.filter((line) => /^import\b|\brequire\(|\bawait import\(/.test(line));
    expect(imports.map((line) => line.replace(/^.* from /, ''))).to.deep.equal([
      `'node:crypto';`,
      `'node:fs';`,
      `'node:util';`,
    ]);
  });

  it('is served byte for byte as it stands in the repository, with the digest that the documentation names', () => {
    const served = readFileSync(
      new URL('../../../adapters/log-verifier/verify.mjs', import.meta.url),
      'utf8',
    );
    expect(served).to.equal(text);
    expect(read('docs/exports.md')).to.include(createHash('sha256').update(text).digest('hex'));
  });
});
