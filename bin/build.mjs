// Builds the checkout into dist: the service, the modules of its pages for browsers, and what is copied as it is:
// their style sheets, the drawings of the collection, of which it then makes pictures, and the verifier of exports, whose digest is published.
// The two compilers differ in what their code may name: neither knows the other's globals.
import { spawn } from 'node:child_process';
import { cpSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
const projects = ['tsconfig.json', 'adapters/http/web/browser/tsconfig.json'];

const run = (...program) =>
  new Promise((done, fail) => {
    const child = spawn(process.execPath, program, { stdio: 'inherit' });
    child.once('error', fail);
    child.once('close', (code) => done(code ?? 1));
  });

const copyAsTheyAre = () => {
  for (const entry of readdirSync(join(root, 'adapters'), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && /\.(css|mjs|svg)$/.test(entry.name))
      cpSync(path, join(root, 'dist', relative(root, path)), { preserveTimestamps: true });
  }
};

const codes = await Promise.all(projects.map((project) => run(tsc, '--project', join(root, project))));
copyAsTheyAre();
if (codes.every((code) => code === 0))
  codes.push(await run(join(root, 'dist', 'adapters', 'artwork', 'draw-collection.js')));
process.exitCode = Math.max(...codes);
