import { expect } from 'chai';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { SystemClock } from '../../adapters/system/clock.js';
import { SystemEntropy } from '../../adapters/system/entropy.js';
import { openEngine } from '../../bin/engines/open.js';
import type { Role } from '../../bin/roles.js';
import {
  isOpenToOthers,
  masterKeys,
  operatorToken,
  UnusableSecretFile,
  writeSecret,
} from '../../bin/secret-files.js';
import { startService } from '../../bin/service.js';
import { readSettings } from '../../bin/settings.js';
import { signerText } from '../../domain/signed-note.js';
import { signer } from '../support/fixtures/notarized.js';
import { eventKeys } from '../support/fixtures/seal-events.js';

const entropy = new SystemEntropy();

const complaint = (read: () => unknown): string | null => {
  try {
    read();
    return null;
  } catch (error) {
    if (error instanceof UnusableSecretFile) return error.message;
    throw error;
  }
};

describe('a secret file', () => {
  let directory: string;
  let path: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    path = join(directory, 'file');
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));
  const write = async (content: string, mode = 0o600): Promise<void> => {
    await writeFile(path, content);
    await chmod(path, mode);
  };
  const keyLine = (byte: number): string => `id:${Buffer.alloc(32, byte).toString('base64')}\n`;

  it('is made readable by its owner alone', async () => {
    operatorToken(path, entropy);
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
    masterKeys(join(directory, 'keys'), entropy, true);
    expect((await stat(join(directory, 'keys'))).mode & 0o777).to.equal(0o600);
  });
  it('has its name only once it is whole, and takes nobody else’s', async () => {
    writeSecret(path, 'ours');
    expect(() => writeSecret(path, 'another')).to.throw('EEXIST');
    expect(await readFile(path, 'utf8')).to.equal('ours');
    expect(await readdir(directory)).to.deep.equal(['file']);
  });
  for (const mode of [0o666, 0o644, 0o604, 0o602, 0o640, 0o620])
    it(`is refused if others may read or write it: mode ${mode.toString(8)}`, async () => {
      await write('t'.repeat(32), mode);
      expect(complaint(() => operatorToken(path, entropy))).to.include(`mode ${mode.toString(8)}`);
      await write(keyLine(1), mode);
      expect(complaint(() => masterKeys(path, entropy, false))).to.include(`chmod 600 ${path}`);
    });
  for (const mode of [0o600, 0o400])
    it(`is taken if its owner alone may use it: mode ${mode.toString(8)}`, async () => {
      await write('t'.repeat(32), mode);
      expect(operatorToken(path, entropy)).to.equal('t'.repeat(32));
    });
  it('may be readable by the group if it belongs to another user than that of the process', () => {
    expect(isOpenToOthers({ mode: 0o100440, uid: 0 }, 1000)).to.equal(false);
    expect(isOpenToOthers({ mode: 0o100440, uid: 1000 }, 1000)).to.equal(true);
    for (const mode of [0o444, 0o460, 0o442])
      expect(isOpenToOthers({ mode, uid: 0 }, 1000), mode.toString(8)).to.equal(true);
  });
  it('with an operator token under 32 characters is refused', async () => {
    for (const token of ['a', 't'.repeat(31), ` ${'t'.repeat(31)} \n`]) {
      await write(token);
      expect(complaint(() => operatorToken(path, entropy))).to.match(/must have 32 or more/);
    }
  });
  it('with a key of events may mark lines as retired, but for the first, and no other file may', async () => {
    const [one, other] = [keyLine(1).trim(), `old:${Buffer.alloc(32, 2).toString('base64')}:retired`];
    await write(`${one}\n${other}\n`);
    expect(
      masterKeys(path, entropy, false, 'EVENT_KEY_FILE').map(({ isRetired }) => isRetired === true),
    ).to.deep.equal([false, true]);
    expect(complaint(() => masterKeys(path, entropy, false))).to.include('each line is an id');
    for (const [content, says] of [
      [`${other}\n${one}\n`, 'first line'],
      [`${one}\n${other.replace('retired', 'tired')}\n`, 'each line is an id'],
      [one.replace('id:', 'i"d:'), 'each line is an id'],
    ] as const) {
      await write(content);
      expect(
        complaint(() => masterKeys(path, entropy, false, 'EVENT_KEY_FILE')),
        content,
      ).to.include(says);
    }
  });
  it('with a master key of zeros is refused, on any line', async () => {
    const good = `new:${Buffer.alloc(32, 1).toString('base64')}\n`;
    for (const content of [keyLine(0), good + keyLine(0)]) {
      await write(content);
      expect(complaint(() => masterKeys(path, entropy, false))).to.match(/key id is all zeros/);
    }
  });
});

describe('a role', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  /**
   * The secret file that a start of the role looks for first, told by its complaint: there is none. And
   * whether it opens its engine with the keys of events.
   */
  const wants = async (role: Role): Promise<readonly [file: string, eventKeys: boolean]> => {
    let hasEventKeys = false;
    const files = readSettings({ DATA_DIR: directory, PORT: '0', DEMO: 'off' });
    const settings = {
      ...files,
      eventStoreUrl: 'esdb://127.0.0.1:1',
      mongoUrl: 'mongodb://127.0.0.1:1/x',
      rabbitUrl: 'amqp://127.0.0.1:1',
      operatorTokenFile: join(directory, 'operator.token'),
      secretKeyFile: join(directory, 'no', 'keys'),
    };
    await writeFile(settings.operatorTokenFile, 'short', { mode: 0o600 });
    try {
      const service = await startService({
        settings,
        role,
        clock: new SystemClock(),
        entropy,
        log: pino({ level: 'silent' }),
        fail: () => undefined,
        open: (options) => {
          hasEventKeys = options.eventKeys !== null;
          return openEngine({ ...options, settings: files, eventKeys: () => eventKeys });
        },
      });
      await service.stop();
      return ['nothing', hasEventKeys];
    } catch (error) {
      if (error instanceof UnusableSecretFile) return [error.message.split(' ')[0] ?? '', hasEventKeys];
      throw error;
    }
  };

  for (const [role, wanted, eventKeysWanted] of [
    ['api', 'OPERATOR_TOKEN_FILE', true],
    ['webhooks', 'SECRET_KEY_FILE', true],
    ['projector', 'nothing', false],
    ['relay', 'nothing', false],
    ['reconciler', 'nothing', true],
  ] as const)
    it(`loads only the secrets that it needs: ${role}`, async () => {
      expect(await wants(role)).to.deep.equal([wanted, eventKeysWanted]);
    });
  it('loads only the secrets that it needs: notary', async () => {
    expect(await wants('notary')).to.deep.equal(['LOG_KEY_FILE', false]);
    await writeFile(join(directory, 'log.key'), `${signerText(signer)}\n`, { mode: 0o600 });
    expect(await wants('notary')).to.deep.equal(['nothing', true]);
  });
});
