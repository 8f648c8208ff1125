import { expect } from 'chai';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { isNamedByNewcomer, logKeys } from '../../../bin/settings/log-keys.js';
import { UnusableSecretFile } from '../../../bin/settings/secret-files.js';
import { readSettings } from '../../../bin/settings/settings.js';
import {
  openNote,
  parseVkey,
  signerFrom,
  signerText,
  signNote,
  vkeyOf,
} from '../../../domain/signed-note.js';

const entropy = new SystemEntropy();
const origin = 'cards.example.com/log';
const signer = (number: number, name = origin) => signerFrom(name, 'note', Buffer.alloc(32, number));

describe('the keys of the log', () => {
  let directory: string;
  beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), 'cards-keys-'))));
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const keys = (more: Readonly<Record<string, string>> = {}, make = true) =>
    logKeys(readSettings({ DATA_DIR: directory, ...more }), entropy, make);
  const write = (...lines: readonly string[]) =>
    writeFile(join(directory, 'log.key'), lines.join('\n'), { mode: 0o600 });

  it('are told where a first try has named them, until the name is taken by decision', () => {
    const origin = keys()?.origin ?? '';
    expect(origin).to.equal('127.0.0.1:8080/log');
    const isTold = (environment: Readonly<Record<string, string>>, name = origin): boolean =>
      isNamedByNewcomer(readSettings({ DATA_DIR: directory, ...environment }), name);
    const production = { BASE_URL: 'https://cards.example.com' };
    expect(isTold(production)).to.equal(true);
    expect(isTold({})).to.equal(false);
    expect(isTold({ BASE_URL: 'http://localhost:8080' })).to.equal(false);
    expect(isTold({ ...production, LOG_ORIGIN: origin })).to.equal(false);
    expect(isTold(production, 'cards.example.com/log')).to.equal(false);
  });

  it('are made once, for their owner alone, under the host that clients know', async () => {
    const made = keys({ BASE_URL: 'https://cards.example.com:8443/shop' });
    expect(made?.origin).to.equal('cards.example.com:8443/log');
    expect((await stat(join(directory, 'log.key'))).mode & 0o777).to.equal(0o600);
    const text = await readFile(join(directory, 'log.key'), 'utf8');
    expect(text).to.match(/^PRIVATE\+KEY\+cards\.example\.com:8443\/log\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+\n$/);
    expect(keys({ BASE_URL: 'https://elsewhere.example' })).to.deep.equal(made);
  });

  it('are made with the first head, and make-secrets says if that is missing later', async () => {
    const program = fileURLToPath(new URL('../../../bin/make-secrets.js', import.meta.url));
    const secrets = () =>
      spawnSync(process.execPath, [program], { env: { DATA_DIR: directory }, encoding: 'utf8' }).stdout;
    const head = join(directory, 'log.head');
    expect(secrets()).to.include(`exist; the last signed head of the log is in LOG_HEAD_FILE ${head}.\n`);
    await rm(head);
    expect(secrets()).to.include(
      `exist; LOG_HEAD_FILE ${head}, the last signed head of the log, is not there: put it back.\n`,
    );
  });

  it('never have the name of a listener on all addresses', () =>
    expect(keys({ HOST: '::', PORT: '80' })?.origin).to.equal('[::1]:80/log'));

  it('are not made where they must be given', () => expect(keys({}, false)).to.equal(null));

  it('all sign, and those that no longer do are still shown', async () => {
    await write(signerText(signer(2)), '', signerText(signer(1)), vkeyOf(signer(3)), '');
    const found = keys();
    expect(found?.vkeys).to.deep.equal([2, 1, 3].map((number) => vkeyOf(signer(number))));
    const note = signNote('a\n', found?.signers ?? []);
    for (const number of [1, 2])
      expect(openNote(note, [parseVkey(vkeyOf(signer(number)))]).verified).to.have.lengthOf(1);
  });

  const refused: Readonly<Record<string, readonly [lines: readonly string[], said: string]>> = {
    'a file without a signing key': [[vkeyOf(signer(1))], 'holds no signing key'],
    'a line that is no key': [[signerText(signer(1)), 'nonsense'], 'line 2'],
    'keys of two origins': [[signerText(signer(1)), signerText(signer(2, 'other/log'))], 'other/log is not'],
    'another LOG_ORIGIN than that of the key': [
      [signerText(signer(1, 'other/log'))],
      'keeps its name forever',
    ],
  };
  for (const [what, [lines, said]] of Object.entries(refused))
    it(`refuses ${what}, and shows no key`, async () => {
      await write(...lines);
      expect(() => keys({ LOG_ORIGIN: origin }))
        .to.throw(UnusableSecretFile, said)
        .with.property('message')
        .that.does.not.include('PRIVATE+KEY');
    });
});
