import { spawn } from 'node:child_process';
import {
  cpSync,
  readFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../../../', import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

const browser = 'adapters/http/web/browser';

describe('bin/run.mjs', () => {
  let checkout: string;
  const path = (name: string): string => join(checkout, name);
  const write = (name: string, text: string): void => writeFileSync(path(name), text);

  const start = (...args: string[]): Promise<Ended> =>
    new Promise((done, fail) => {
      const child = spawn(process.execPath, [path('bin/run.mjs'), ...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let out = '';
      let error = '';
      child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (error += chunk.toString()));
      child.once('error', fail);
      child.once('close', (code) => done({ code, out, error }));
    });

  beforeEach(() => {
    checkout = mkdtempSync(join(tmpdir(), 'card-checkout-'));
    const copied = ['package.json', 'package-lock.json', 'tsconfig.json', 'bin/run.mjs', 'bin/build.mjs'];
    for (const name of [...copied, `${browser}/tsconfig.json`]) cpSync(join(root, name), path(name));
    write(`${browser}/docs.ts`, "document.title = 'changed by a script';\n");
    write('adapters/http/web/site.css', 'body { margin: 0; }\n');
    mkdirSync(path('adapters/artwork'), { recursive: true });
    write('adapters/artwork/draw-collection.ts', 'export {};\n');
    symlinkSync(join(root, 'node_modules'), path('node_modules'));
    write('bin/cli.ts', 'console.log(JSON.stringify(process.argv.slice(2)));\nprocess.exitCode = 69;\n');
  });
  afterEach(() => rmSync(checkout, { recursive: true, force: true }));

  it('builds what changed and runs the program, with only the program’s output and exit code', async () => {
    expect(await start('cli', 'card', 'show', '--json')).to.deep.equal({
      code: 69,
      out: '["card","show","--json"]\n',
      error: '',
    });
    write('bin/cli.ts', "console.log('changed');\n");
    expect(await start('cli')).to.deep.equal({ code: 0, out: 'changed\n', error: '' });
  });

  it('installs nothing where it is built, and the packages for development are pruned', async () => {
    expect(await start('build')).to.deep.equal({ code: 0, out: '', error: '' });
    const record = JSON.parse(readFileSync(path('node_modules/.package-lock.json'), 'utf8')) as {
      packages: Record<string, { readonly dev?: boolean }>;
    };
    const pruned = Object.entries(record.packages).filter(([, { dev }]) => dev !== true);
    rmSync(path('node_modules'));
    mkdirSync(path('node_modules'));
    write('node_modules/.package-lock.json', JSON.stringify({ packages: Object.fromEntries(pruned) }));
    expect(await start('cli')).to.deep.equal({ code: 69, out: '[]\n', error: '' });
  });

  it('builds the modules of pages for browsers, and copies style sheets', async () => {
    await start('cli');
    const built = (name: string): string => readFileSync(path(`dist/adapters/http/web/${name}`), 'utf8');
    expect(built('browser/docs.js')).to.include("document.title = 'changed by a script';");
    expect(built('site.css')).to.equal('body { margin: 0; }\n');
    write('adapters/http/web/site.css', 'body { margin: 1px; }\n');
    await start('cli');
    expect(built('site.css')).to.equal('body { margin: 1px; }\n');
    rmSync(path('adapters/http/web/site.css'));
    await start('cli');
    expect(existsSync(path('dist/adapters/http/web/site.css'))).to.equal(false);
  });

  it('removes the build output of a source that is gone', async () => {
    mkdirSync(path('test'));
    write('test/old.test.ts', 'export const old = 1;\n');
    await start('cli');
    expect(existsSync(path('dist/test/old.test.js'))).to.equal(true);
    rmSync(path('test/old.test.ts'));
    await start('cli');
    expect([
      existsSync(path('dist/test/old.test.js')),
      existsSync(path('dist/test/old.test.js.map')),
    ]).to.deep.equal([false, false]);
  });

  it('can be started several times at once, and takes over from a process that died while it was building', async () => {
    mkdirSync(path('dist'));
    const died = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await new Promise((done) => died.once('close', done));
    write('dist/.lock', String(died.pid));
    const ended = await Promise.all([start('cli', '1'), start('cli', '2'), start('cli', '3')]);
    expect(ended).to.deep.equal(
      ['1', '2', '3'].map((word) => ({ code: 69, out: `["${word}"]\n`, error: '' })),
    );
    expect(existsSync(path('dist/.lock'))).to.equal(false);
  });

  it('runs no program that does not compile', async () => {
    write('bin/cli.ts', "const amount: number = 'one';\nconsole.log(amount);\n");
    const { code, out, error } = await start('cli');
    expect([code, out]).to.deep.equal([1, '']);
    expect(error).to.match(/bin\/cli\.ts.*TS2322.*\n[^]*The build failed\.\n$/);
  });

  it('lists its programs if none is asked for', async () => {
    expect(await start('toString')).to.deep.equal({
      code: 1,
      out: '',
      error:
        'Usage: node bin/run.mjs <build | serve | cli | bench | engines | model | simulate | mutate | soak | power | clients | test> [arguments]\n',
    });
  });
});
