import { posix } from 'node:path';
import { expect } from 'chai';
import { parseSource, property, read } from '../support/runner/repository.js';

const staticImports = new Set(['ImportDeclaration', 'ExportNamedDeclaration', 'ExportAllDeclaration']);

/** What a compiled module imports as it is loaded; not what it imports later. */
const importsOf = (path: string): readonly string[] => {
  if (path.endsWith('.json')) return [];
  const found: string[] = [];
  parseSource(path, read(path)).walk((node) => {
    const specifier = staticImports.has(String(node['type'])) ? property(node['source'], 'value') : null;
    if (typeof specifier === 'string') found.push(specifier);
  });
  return found;
};

/** What comes with a compiled module, through whatever it imports. */
const loadedWith = (entry: string) => {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const specifier of importsOf(path))
      if (specifier.startsWith('.')) visit(posix.join(posix.dirname(path), specifier));
      else if (!specifier.startsWith('node:')) packages.add(specifier);
  };
  visit(entry);
  return { modules: [...seen], packages: [...packages].toSorted() };
};

const packagesWith = (entry: string): readonly string[] => loadedWith(entry).packages;

describe('what is loaded at a start', () => {
  it('is no client of a server, nor what few requests need', () => {
    expect(packagesWith('dist/bin/wiring/service.js')).to.deep.equal([
      '@photostructure/sqlite',
      'accepts',
      'content-type',
      'express',
      'ipaddr.js',
      'lru-cache',
      'preact-render-to-string',
      'preact/jsx-runtime',
      'prom-client',
      'rate-limiter-flexible',
      'reflect-metadata',
      'tsyringe',
      'zod',
    ]);
  });

  it('is no page of the console: the first visitor loads them', () => {
    const { modules } = loadedWith('dist/bin/wiring/service.js');
    expect(modules).to.include('dist/adapters/http/console/routes.js');
    expect(modules.filter((path) => /console\/(pages|answer|drawn|frame)/.test(path))).to.deep.equal([]);
  });

  it('is little in the thread that writes', () => {
    const writer = 'dist/adapters/sqlite/writer/writer-thread.js';
    expect(packagesWith(writer)).to.deep.equal(['@photostructure/sqlite', 'lru-cache']);
  });

  it('is little more in the threads that project and notarize', () => {
    for (const thread of ['projector-thread', 'notary-thread'])
      expect(packagesWith(`dist/bin/${thread}.js`), thread).to.deep.equal([
        '@photostructure/sqlite',
        'lru-cache',
        'zod',
      ]);
  });
});
