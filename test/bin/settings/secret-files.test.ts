import { expect } from 'chai';
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { parse } from 'yaml';
import { z } from 'zod';
import { SystemClock } from '../../../adapters/system/clock.js';
import { SystemEntropy } from '../../../adapters/system/entropy.js';
import { openEngine } from '../../../bin/engines/open.js';
import { logKeys } from '../../../bin/settings/log-keys.js';
import { roles, type Role } from '../../../bin/wiring/roles.js';
import {
  assertFolders,
  isOpenToOthers,
  masterKeys,
  operatorToken,
  UnusableSecretFile,
  writeSecret,
} from '../../../bin/settings/secret-files.js';
import { startService } from '../../../bin/wiring/service.js';
import { readSettings, type Settings } from '../../../bin/settings/settings.js';
import { read } from '../../support/runner/repository.js';

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
  it('with an operator token that no request can send is refused', async () => {
    for (const token of [
      'é'.repeat(40),
      `${'t'.repeat(40)}\n${'u'.repeat(40)}`,
      `${'t'.repeat(40)} u`,
      '\0'.repeat(40),
    ]) {
      await write(token);
      expect(complaint(() => operatorToken(path, entropy))).to.include('no request can send');
    }
  });
  it('that is a link to nothing is refused, and not made', async () => {
    await symlink('not mounted', path);
    expect(complaint(() => operatorToken(path, entropy))).to.include('Is it mounted?');
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

const files = [
  'OPERATOR_TOKEN_FILE',
  'SECRET_KEY_FILE',
  'PERSONAL_KEY_FILE',
  'EVENT_KEY_FILE',
  'LOG_KEY_FILE',
] as const;
type SecretFile = (typeof files)[number];
const onServers = roles.filter((role) => role !== 'all');

describe('a role on servers', () => {
  let directory: string;
  let settings: Settings;
  const pathOf = (file: SecretFile): string => join(directory, 'secrets', file);
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    const paths = Object.fromEntries(files.map((file) => [file, pathOf(file)]));
    settings = readSettings({ DATA_DIR: directory, PORT: '0', DEMO: 'off', ...paths });
    masterKeys(settings.secretKeyFile, entropy, true);
    masterKeys(settings.personalKeyFile, entropy, true, 'PERSONAL_KEY_FILE');
    masterKeys(settings.eventKeyFile, entropy, true, 'EVENT_KEY_FILE');
    operatorToken(settings.operatorTokenFile, entropy);
    logKeys(settings, entropy, true);
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const servers = { eventStoreUrl: 'esdb://a:1', mongoUrl: 'mongodb://a:1/x', rabbitUrl: 'amqp://a:1' };
  /** Why a start of the role is refused; null if it starts. */
  const refusal = async (role: Role, more: Partial<Settings> = {}): Promise<string | null> => {
    const spare = masterKeys(join(directory, 'spare'), entropy, true);
    try {
      const service = await startService({
        // What stands for the servers lies in DATA_DIR, where it would be another truth beside them.
        settings: { ...settings, servers, dataDir: join(directory, 'none'), ...more },
        role,
        clock: new SystemClock(),
        entropy,
        log: pino({ level: 'silent' }),
        fail: () => undefined,
        open: (options) => {
          const masters = options.personalMasters() ?? spare;
          const eventKeys = options.eventKeys ?? (() => spare);
          return openEngine({ ...options, settings, personalMasters: () => masters, eventKeys });
        },
      });
      await service.stop();
      return null;
    } catch (error) {
      if (error instanceof UnusableSecretFile) return error.message;
      throw error;
    }
  };

  for (const role of onServers)
    it(`reads the secret files that the table in docs/operations.md names, and no other: ${role}`, async () => {
      expect(await refusal(role)).to.equal(null);
      const read: SecretFile[] = [];
      for (const file of files) {
        // Whoever reads a file that others may read refuses it.
        await chmod(pathOf(file), 0o644);
        if ((await refusal(role))?.includes(`${pathOf(file)} holds a secret`) === true) read.push(file);
        await chmod(pathOf(file), 0o600);
      }
      expect(read).to.deep.equal(files.filter((file) => inTable(file, role)));
    });

  for (const [role, file] of [
    ['api', 'SECRET_KEY_FILE'],
    ['webhooks', 'SECRET_KEY_FILE'],
    ['api', 'PERSONAL_KEY_FILE'],
    ['projector', 'PERSONAL_KEY_FILE'],
    ['relay', 'PERSONAL_KEY_FILE'],
    ['reconciler', 'PERSONAL_KEY_FILE'],
    ['notary', 'LOG_KEY_FILE'],
  ] as const)
    it(`does not start without a key that it needs: ${role} without ${file}`, async () => {
      await rm(pathOf(file));
      expect(await refusal(role)).to.match(new RegExp(`^${file} \\S+ (does not exist|is missing)`));
    });

  it('does not start where a file is in the place of DATA_DIR, or on the way to it', async () => {
    const file = join(directory, 'a file');
    await writeFile(file, '');
    for (const dataDir of [file, join(file, 'data')]) {
      expect(complaint(() => assertFolders(readSettings({ DATA_DIR: dataDir }), false))).to.equal(
        `DATA_DIR ${dataDir} can't be used: ${file} is no folder.`,
      );
    }
  });

  it('does not start where the folder of a secret file is missing, and makes none', async () => {
    await rm(join(directory, 'secrets'), { recursive: true });
    expect(await refusal('all')).to.equal(
      `The folder of the secret file ${pathOf('SECRET_KEY_FILE')} does not exist. Is it mounted?`,
    );
    expect(await readdir(directory)).not.to.include('secrets');
  });

  it('does not start a notary where LOG_ANCHOR_DIR is missing', async () => {
    const logAnchorDir = join(directory, 'anchors');
    const missing = `The folder LOG_ANCHOR_DIR ${logAnchorDir} does not exist. Is it mounted?`;
    for (const role of ['notary', 'all'] as const)
      expect(await refusal(role, { logAnchorDir }), role).to.equal(missing);
    expect(await refusal('reconciler', { logAnchorDir })).to.not.equal(missing);
  });

  it('gets in docker-compose.yml the files that it reads, each by itself, and no volume with others', () => {
    const { services } = Compose.parse(parse(read('docker-compose.yml'), { merge: true }));
    for (const role of onServers) {
      const { volumes, environment } = services[role] ?? { volumes: [], environment: {} };
      const wanted = files.filter((file) => inTable(file, role));
      const mounted = volumes.filter((volume) => typeof volume !== 'string');
      expect(
        Object.keys(environment).filter((name) => files.some((file) => file === name)),
        role,
      ).to.have.members(wanted);
      expect(mounted, role).to.have.deep.members(
        wanted.map((file) => ({
          type: 'volume',
          source: 'secrets',
          target: environment[file],
          read_only: true,
          volume: { subpath: environment[file]?.replace('/secrets/', ''), nocopy: true },
        })),
      );
      expect(
        volumes.filter((volume) => typeof volume === 'string' && volume.startsWith('secrets')),
      ).to.deep.equal([]);
    }
  });
});

const Compose = z.object({
  services: z.record(
    z.string(),
    z.object({
      environment: z.record(z.string(), z.string()).default({}),
      volumes: z.array(z.union([z.string(), z.record(z.string(), z.unknown())])).default([]),
    }),
  ),
});

/** Whether the table under "Secret files" says that the role reads the file. */
const inTable = (file: SecretFile, role: Role): boolean => {
  const [, section = ''] = read('docs/operations.md').split('### Secret files');
  const rows = section
    .split('### ')[0]
    ?.split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
  const column = rows?.[0]?.indexOf(role) ?? -1;
  return rows?.find(([, name]) => name === file)?.[column] === 'reads';
};
