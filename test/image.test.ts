import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { version } from '../bin/settings/version.js';
import { read, root } from './support/runner/repository.js';
import { freePort } from './support/servers/ports.js';
import { eventually } from './support/time/eventually.js';

interface Instruction {
  readonly name: string;
  readonly words: string;
}

/** The instructions of each stage of the Dockerfile, by the stage's name; that of the last one is ''. */
const stages: ReadonlyMap<string, readonly Instruction[]> = new Map(
  read('Dockerfile')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', '')
    .split(/^FROM /m)
    .slice(1)
    .map((stage) => {
      const [from = '', ...lines] = stage.split('\n').filter((line) => line !== '');
      const instructions = lines.map((line) => {
        const [name = '', ...words] = line.trim().split(' ');
        return { name, words: words.join(' ') };
      });
      return [/ AS (\w+)$/.exec(from)?.[1] ?? '', instructions] as const;
    }),
);
const instructionsOf = (name: string, stage = ''): readonly string[] =>
  (stages.get(stage) ?? []).filter((each) => each.name === name).map(({ words }) => words);

/** What JSON says after a name in an instruction: `CMD ["…"]`. */
const listIn = (text: string): readonly string[] => JSON.parse(text.slice(text.indexOf('['))) as string[];

/** Copies a folder or file as hard links where that is possible. */
const copy = (from: string, to: string): void => {
  mkdirSync(dirname(to), { recursive: true });
  if (spawnSync('cp', ['-alT', from, to]).status !== 0) execFileSync('cp', ['-aT', from, to]);
};

/** What stages leave, without a registry and a compiler: from what this checkout has installed and built. */
const leftBy: Readonly<Record<string, (to: string) => void>> = {
  'dependencies /app/node_modules': (to) => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      readonly packages: Readonly<Record<string, { readonly dev?: true }>>;
    };
    for (const [path, { dev }] of Object.entries(packages))
      if (path !== '' && dev !== true && existsSync(join(root, path)) && !existsSync(join(to, '..', path)))
        copy(join(root, path), join(to, '..', path));
  },
  'build /app/dist': (to) => {
    const sources = instructionsOf('COPY', 'build').flatMap((words) => words.split(' ').slice(0, -1));
    for (const source of sources)
      if (existsSync(join(root, 'dist', source))) copy(join(root, 'dist', source), join(to, source));
  },
};

/** A program with the libraries that it is linked to, in the place of the base image. */
const copyProgram = (path: string, directory: string, to: string): void => {
  const linked = spawnSync('ldd', [path], { encoding: 'utf8' }).stdout;
  for (const [library] of linked.matchAll(/(?<=\s)\/\S+/g))
    if (!existsSync(join(directory, library))) {
      mkdirSync(join(directory, dirname(library)), { recursive: true });
      execFileSync('cp', ['-L', library, join(directory, library)]);
    }
  mkdirSync(join(directory, dirname(to)), { recursive: true });
  execFileSync('cp', ['-L', path, join(directory, to)]);
};

const inside =
  'mount --rbind /dev "$0/dev" && mount --rbind /proc "$0/proc" && exec chroot "$0" /bin/sh -c \'cd /app && exec "$@"\' sh "$@"';
const canChroot =
  spawnSync('unshare', ['--map-root-user', '--mount', 'mount', '--rbind', '/dev', '/mnt']).status === 0;
const title = 'holds all that the service, its command line and its health check need';

describe('the layers of the image', () => {
  let directory = '';
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-image-'));
  });
  // Others don't see what is mounted inside.
  after(() => rm(directory, { recursive: true, force: true }));

  (canChroot ? it : it.skip)(
    canChroot ? title : `${title} (skipped: unshare may not mount here)`,
    async () => {
      const app = join(directory, instructionsOf('WORKDIR')[0] ?? '');
      for (const folder of ['dev', 'proc', 'tmp', 'usr/local/bin', 'data', app.slice(directory.length)])
        mkdirSync(join(directory, folder), { recursive: true });
      copyProgram(process.execPath, directory, '/usr/local/bin/node');
      copyProgram('/bin/sh', directory, '/bin/sh');
      for (const words of instructionsOf('COPY')) {
        const [from = '', to = ''] = words.replace('--from=', '').split(/ (?=\S+$)/);
        const target = join(app, to === './' ? from : to);
        if (words.startsWith('--from=')) leftBy[from]?.(target);
        else copy(join(root, from), target);
      }
      expect(readdirSync(app)).to.have.members([
        'package.json',
        'node_modules',
        'dist',
        'CHANGELOG.md',
        'examples',
      ]);
      const script = instructionsOf('RUN').find((words) => words.includes('handwritten-cards')) ?? '';
      execFileSync('sh', ['-c', script.replaceAll('/usr/local', `${directory}/usr/local`)]);
      const settings = Object.fromEntries(
        (instructionsOf('ENV')[0] ?? '').split(' ').map((pair) => pair.split('=')),
      );
      const port = String(await freePort());
      const PATH = '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
      const env = { ...settings, PATH, PORT: port, BASE_URL: `http://127.0.0.1:${port}` };
      const start = (words: readonly string[]) =>
        spawn('unshare', ['--map-root-user', '--mount', 'sh', '-c', inside, directory, ...words], {
          env,
          stdio: ['ignore', 'pipe', 'inherit'],
        });
      const run = async (words: readonly string[]) => {
        const child = start(words);
        let out = '';
        child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
        const [code] = (await once(child, 'close')) as [number];
        return [code, out.trim()];
      };
      const isHealthy = async () => (await run(listIn(instructionsOf('HEALTHCHECK')[0] ?? '')))[0] === 0;
      const service = start([...instructionsOf('ENTRYPOINT'), ...instructionsOf('CMD')].flatMap(listIn));
      let said = '';
      service.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
      const ended = once(service, 'close');
      try {
        await eventually(() => said.includes('"listening"'), { what: 'a service that listens' });
        expect(await isHealthy()).to.equal(true);
        expect(await run(['handwritten-cards', '--version'])).to.deep.equal([0, version]);
        const [code, organizations] = await run(['handwritten-cards', 'org', 'list', '--json']);
        expect(code, String(organizations)).to.equal(0);
        for (const path of ['/docs', '/docs/changelog', '/console'])
          expect([path, (await fetch(`${env.BASE_URL}${path}`)).status]).to.deep.equal([path, 200]);
      } finally {
        service.kill('SIGTERM');
        expect((await ended)[0]).to.equal(0);
      }
      expect(await isHealthy()).to.equal(false);
      await rm(directory, { recursive: true, force: true });
    },
  ).timeout(60_000);
});
