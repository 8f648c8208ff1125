import { posix } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { files, parseSource, property, read } from './support/runner/repository.js';

const isBinary = (path: string): boolean => /\.(png|jpg|ico|woff2|pdf|jar|class)$/.test(path);
/** Examples are not part of it: they are programs of those who use the service. */
const sources = files.filter((path) => /\.tsx?$/.test(path) && !path.startsWith('examples/'));

// What a source imports

const isRequire = (node: unknown): boolean =>
  property(node, 'type') === 'CallExpression' && property(property(node, 'callee'), 'name') === 'require';

/**
 * Every module that a source names: static, dynamic and type-only imports, re-exports. One that is computed
 * is `(computed)`.
 */
const importsOf = (path: string, text: string): string[] => {
  const found: string[] = [];
  const take = (specifier: unknown): void => {
    const value = property(specifier, 'value');
    found.push(typeof value === 'string' ? value : '(computed)');
  };
  parseSource(path, text).walk((node) => {
    if (
      node['type'] === 'ImportDeclaration' ||
      node['type'] === 'ExportAllDeclaration' ||
      node['type'] === 'ImportExpression' ||
      node['type'] === 'TSImportType'
    )
      take(node['source']);
    if (node['type'] === 'ExportNamedDeclaration' && property(node['source'], 'type') !== undefined)
      take(node['source']);
    if (node['type'] === 'TSExternalModuleReference') take(node['expression']);
    if (isRequire(node)) take(property(node['arguments'], '0'));
  });
  return found;
};

// Who may import whom

/** The layer of a file: its folder; for an adapter, its folder with its technology. */
const layerOf = (path: string): string =>
  path
    .split('/')
    .slice(0, path.startsWith('adapters/') ? 2 : 1)
    .join('/');

const core = ['domain', 'projections', 'application'];
/** Which rooms of a folder import which. An arrow that is not here is a decision to be made. */
const arrows: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  application: {
    access: 'history memory organizations ports requests timing writing',
    cards: 'history log money organizations personal ports projecting requests timing writing',
    contacts: 'access history organizations personal ports projecting requests timing writing',
    history: 'log personal ports projecting timing writing',
    hooks: 'cards contacts history organizations ports projecting requests writing',
    log: 'memory personal ports requests timing webhooks writing',
    memory: '',
    money: 'history log memory organizations ports requests timing writing',
    organizations: 'access cards history memory money ports projecting requests timing writing',
    personal: 'cards contacts log memory organizations ports timing writing',
    ports: 'log',
    projecting: 'log memory ports timing writing',
    requests: 'personal ports timing writing',
    timing: 'ports',
    webhooks: 'history log memory organizations ports requests timing writing',
    writing: 'history log memory ports',
  },
  'adapters/http': {
    api: 'schema server web',
    console: 'api operator schema server web',
    docs: 'document schema server web',
    document: 'api schema server',
    operator: 'api document schema server web',
    schema: '',
    server: 'docs schema',
    web: 'server',
  },
  'adapters/mongodb': {
    client: 'records',
    deliveries: 'client',
    read: 'client records',
    records: 'client',
  },
  bin: {
    cli: 'offline settings',
    engines: 'metrics settings wiring',
    metrics: '',
    offline: 'settings wiring',
    settings: '',
    wiring: 'engines metrics settings',
  },
};

/** The room of a file, with the folder of rooms that it is in; null if it is in none. */
const roomOf = (path: string): readonly [folder: string, room: string] | null => {
  const folder = Object.keys(arrows).find((each) => path.startsWith(`${each}/`));
  const [room, file] = folder === undefined ? [] : path.slice(folder.length + 1).split('/');
  return folder === undefined || room === undefined || file === undefined ? null : [folder, room];
};

/** Imports from room to room that the table does not have, in order. */
const newArrows = (path: string, text: string): string[] =>
  importsOf(path, text).filter((specifier) => {
    const from = roomOf(path);
    const to = specifier.startsWith('.') ? roomOf(posix.join(posix.dirname(path), specifier)) : null;
    if (from === null || to === null || from[0] !== to[0] || from[1] === to[1]) return false;
    return arrows[from[0]]?.[from[1]]?.split(' ').includes(to[1]) !== true;
  });

/** What is started: programs, and threads. */
const started = new Set(
  ['serve', 'cli', 'make-secrets', 'notary-thread', 'projector-thread'].map((name) => `bin/${name}.ts`),
);
const drivers =
  /^(@opentelemetry\/|express|mongodb|amqplib|@eventstore\/|@photostructure\/|@grpc\/|undici|pino|prom-client|rate-limiter-flexible|sharp|tsyringe|reflect-metadata|commander)/;
const inputOutput =
  /^node:(fs|http|https|http2|net|tls|dns|dgram|child_process|worker_threads|cluster|os|process|timers|sqlite|readline|repl)(\/|$)/;

const mayImportLayer = (layer: string, target: string): boolean => {
  if (layer === 'test' || layer === target) return true;
  if (target === 'test') return false;
  if (layer === 'bin') return true;
  if (layer.startsWith('adapters/')) return core.includes(target);
  return core.indexOf(target) !== -1 && core.indexOf(target) < core.indexOf(layer);
};

const mayImportPackage = (layer: string, name: string): boolean => {
  if (layer === 'domain' || layer === 'projections') return name === 'zod' || name === 'node:crypto';
  if (layer === 'application') return !drivers.test(name) && !inputOutput.test(name);
  return true;
};

/** The imports of a source that the architecture forbids, as `file → import`. */
const forbidden = (path: string, text: string): string[] => {
  const layer = layerOf(path);
  const isAllowed = (specifier: string): boolean => {
    if (specifier === '(computed)') return layer === 'bin' || layer === 'test';
    if (!specifier.startsWith('.')) return mayImportPackage(layer, specifier);
    return mayImportLayer(layer, layerOf(posix.join(posix.dirname(path), specifier)));
  };
  return importsOf(path, text)
    .filter((specifier) => !isAllowed(specifier))
    .map((specifier) => `${path} → ${specifier}`);
};

// What the service needs

/** What starts by itself: programs, and scripts of pages. */
const isEntry = (path: string): boolean =>
  /^(bin\/(serve|cli|make-secrets)\.ts|adapters\/http\/web\/browser\/\w+\.ts)$/.test(path);

/** The sources that a source names: in imports, and as programs of threads. */
const namedIn = (path: string, text: string): string[] => {
  const found: string[] = [];
  parseSource(path, text).walk((node) => {
    const { value } = node;
    if (node['type'] !== 'Literal' || typeof value !== 'string' || !/^\.\.?\/.*\.m?js$/.test(value)) return;
    const target = posix.join(posix.dirname(path), value);
    found.push(target, target.replace(/\.js$/, '.ts'), target.replace(/\.js$/, '.tsx'));
  });
  return found;
};

/** The files of a product that none of its programs reaches. */
const unreached = (texts: ReadonlyMap<string, string>): readonly string[] => {
  const reached = new Set<string>();
  const visit = (path: string): void => {
    const text = texts.get(path);
    if (text === undefined || reached.has(path)) return;
    reached.add(path);
    namedIn(path, text).forEach(visit);
  };
  [...texts.keys()].filter(isEntry).forEach(visit);
  return [...texts.keys()].filter((path) => !reached.has(path));
};

/** The circles of imports among sources: the files of each, in order. */
const circlesAmong = (texts: ReadonlyMap<string, string>): readonly (readonly string[])[] => {
  const importedBy = (path: string): readonly string[] =>
    importsOf(path, texts.get(path) ?? '').flatMap((specifier) => {
      const target = posix.join(posix.dirname(path), specifier).replace(/\.js$/, '');
      return specifier.startsWith('.')
        ? [`${target}.ts`, `${target}.tsx`].filter((each) => texts.has(each))
        : [];
    });
  const imports = new Map([...texts.keys()].map((path) => [path, importedBy(path)]));
  const reachedFrom = (path: string): ReadonlySet<string> => {
    const reached = new Set(imports.get(path));
    for (const next of reached) for (const target of imports.get(next) ?? []) reached.add(target);
    return reached;
  };
  const reached = new Map([...texts.keys()].map((path) => [path, reachedFrom(path)]));
  const inCircles = [...reached].filter(([path, all]) => all.has(path));
  return [
    ...new Set(
      inCircles.map(([path, all]) =>
        [...all]
          .filter((other) => reached.get(other)?.has(path) === true)
          .toSorted()
          .join(' '),
      ),
    ),
  ].map((circle) => circle.split(' '));
};

/** Places that read the clock without the Clock port: lint can't see `new Date()`. */
const clockReads = (path: string, text: string): string[] => {
  const found: string[] = [];
  parseSource(path, text).walk((node) => {
    const isDate = property(node['callee'], 'name') === 'Date';
    if (isDate && node['type'] === 'NewExpression' && property(node['arguments'], 'length') === 0)
      found.push(`${path}: new Date()`);
    if (isDate && node['type'] === 'CallExpression') found.push(`${path}: Date()`);
  });
  return found;
};

/** The engines: what a position is made of is known there alone. */
const isOfEngine = (path: string): boolean => /^(test|adapters\/(eventstoredb|sqlite|mongodb))\//.test(path);

const arithmetic = new Set(['+', '-', '*', '/', '%', '**', '+=', '-=', '++', '--']);

/** Places that calculate with positions: with whole numbers of any size, or by the names they have. */
const calculations = (path: string, text: string): string[] => {
  const isNumber = (node: unknown): boolean =>
    property(node, 'bigint') !== undefined || property(property(node, 'callee'), 'name') === 'BigInt';
  const isPosition = (node: unknown): boolean => {
    const name = property(node, 'name') ?? property(property(node, 'property'), 'name');
    return typeof name === 'string' && /(position|checkpoint|head)$/i.test(name);
  };
  const found: string[] = [];
  parseSource(path, text).walk((node) => {
    if (!arithmetic.has(String(node['operator']))) return;
    const operands = [node['left'], node['right'], node['argument']].filter((each) => each !== undefined);
    if (operands.some(isPosition) || (operands.some(isNumber) && !operands.every(isNumber)))
      found.push(`${path}: ${text.slice(Number(node['start']), Number(node['end']))}`);
  });
  return found;
};

describe('the architecture', () => {
  it('has no import that its table forbids', () => {
    expect(sources.length).to.be.greaterThan(20);
    expect(sources.flatMap((path) => forbidden(path, read(path)))).to.deep.equal([]);
  });

  it('has no circle of files that import each other, not even for types', () => {
    const product = sources.filter((path) => !path.startsWith('test/'));
    expect(circlesAmong(new Map(product.map((path) => [path, read(path)])))).to.deep.equal([]);
    const made = {
      'domain/a.ts': "import { b } from './b.js';",
      'domain/b.ts': "export * from '../application/c.js';",
      'application/c.ts': "import type { A } from '../domain/a.js';",
      'application/d.tsx': "import { a } from '../domain/a.js'; import { e } from './e.js';",
      'application/e.ts': "type D = import('./d.js').D;",
      'application/f.ts': "import { a } from '../domain/a.js';",
    };
    expect(circlesAmong(new Map(Object.entries(made)))).to.deep.equal([
      ['application/c.ts', 'domain/a.ts', 'domain/b.ts'],
      ['application/d.tsx', 'application/e.ts'],
    ]);
  });

  it('has only folders that its table names', () => {
    const layers = new Set(sources.map((path) => path.slice(0, path.indexOf('/'))));
    expect(
      [...layers].filter(
        (layer) => !['domain', 'projections', 'application', 'adapters', 'bin', 'test'].includes(layer),
      ),
    ).to.deep.equal([]);
  });

  it('has rooms, and no file loose beside them', () => {
    const isLoose = (path: string): boolean => posix.dirname(path) in arrows && !started.has(path);
    expect(sources.filter(isLoose)).to.deep.equal([]);
    expect(['application/x.ts', 'application/cards/x.ts', 'bin/serve.ts'].filter(isLoose)).to.deep.equal([
      'application/x.ts',
    ]);
  });

  it('has no import from room to room but those of its table', () => {
    expect(sources.flatMap((path) => newArrows(path, read(path)))).to.deep.equal([]);
    const text = "import type { A } from '../webhooks/a.js'; import { b } from '../timing/b.js';";
    expect(newArrows('application/money/x.ts', text)).to.deep.equal(['../webhooks/a.js']);
    expect(newArrows('application/new/x.ts', text)).to.have.length(2);
  });

  it('notices a forbidden import of every kind', () => {
    const seen = (path: string, ...lines: string[]): string[] =>
      forbidden(path, lines.join('\n')).map((line) => line.split(' → ')[1] ?? '');
    expect(
      seen('domain/card.ts', "import type { EventStore } from '../application/ports/event-store.js';"),
    ).to.deep.equal(['../application/ports/event-store.js']);
    expect(
      seen('domain/card.ts', "export * from '../projections/card-rows.js';", "import fs from 'node:fs';"),
    ).to.deep.equal(['../projections/card-rows.js', 'node:fs']);
    expect(
      seen(
        'domain/card.ts',
        "import { z } from 'zod';",
        "import { createHash } from 'node:crypto';",
        "import { x } from './ids.js';",
      ),
    ).to.deep.equal([]);
    expect(
      seen(
        'projections/card-rows.ts',
        "export { x } from '../application/execute.js';",
        "import { y } from '../domain/card.js';",
      ),
    ).to.deep.equal(['../application/execute.js']);
    expect(
      seen(
        'application/execute.ts',
        "const x = await import('../adapters/sqlite/store.js');",
        "import 'mongodb';",
      ),
    ).to.deep.equal(['../adapters/sqlite/store.js', 'mongodb']);
    expect(seen('application/execute.ts', "type T = import('../bin/settings.js').Settings;")).to.deep.equal([
      '../bin/settings.js',
    ]);
    expect(
      seen(
        'adapters/http/app.ts',
        "import { x } from '../sqlite/store.js';",
        "import { y } from '../../application/execute.js';",
      ),
    ).to.deep.equal(['../sqlite/store.js']);
    expect(
      seen(
        'adapters/http/routes/cards.ts',
        "import { x } from '../app.js';",
        "import { y } from '../../system/clock.js';",
      ),
    ).to.deep.equal(['../../system/clock.js']);
    expect(
      seen('adapters/system/clock.ts', 'await import(name);', "import s = require('../sqlite/store.js');"),
    ).to.deep.equal(['(computed)', '../sqlite/store.js']);
    expect(
      seen(
        'bin/serve.ts',
        "import { x } from '../adapters/http/app.js';",
        "import { y } from '../test/support/service.js';",
      ),
    ).to.deep.equal(['../test/support/service.js']);
  });

  it('has no file that tests alone use', () => {
    const product = files.filter(
      (path) => /\.(tsx?|mjs)$/.test(path) && /^(domain|projections|application|adapters|bin)\//.test(path),
    );
    expect(product.length).to.be.greaterThan(200);
    const started = [
      'bin/run.mjs',
      'bin/build.mjs',
      'bin/handwritten-cards.mjs',
      'adapters/artwork/draw-collection.ts',
    ];
    const texts = product
      .filter((path) => !started.includes(path))
      .map((path) => [path, read(path)] as const);
    expect(unreached(new Map(texts))).to.deep.equal([]);
    const made = {
      'bin/serve.ts': "import { a } from '../domain/a.js';",
      'domain/a.ts': "new Worker(new URL('./thread.js', import.meta.url));",
      'domain/thread.ts': '',
      'domain/tests-alone.ts': "import { a } from './a.js';",
    };
    expect(unreached(new Map(Object.entries(made)))).to.deep.equal(['domain/tests-alone.ts']);
  });

  it('reads the clock in one place only', () => {
    const checked = sources.filter((path) => !['adapters/system', 'test', 'bin'].includes(layerOf(path)));
    expect(checked.flatMap((path) => clockReads(path, read(path)))).to.deep.equal([]);
    expect(
      clockReads('domain/x.ts', 'const a = new Date(); const b = Date(); const c = new Date(0);'),
    ).to.deep.equal(['domain/x.ts: new Date()', 'domain/x.ts: Date()']);
  });
});

describe('the positions of the log', () => {
  it('are calculated with by engines alone', () => {
    const checked = sources.filter((path) => !isOfEngine(path));
    expect(checked.length).to.be.greaterThan(200);
    expect(checked.flatMap((path) => calculations(path, read(path)))).to.deep.equal([]);
    const made = [
      'const a = from.position - 1n;',
      'const b = after + 1n;',
      'after += BigInt(step);',
      'const c = checkpoint - head;',
      'this.position++;',
      'const d = a > b ? larger(after, position) : 2n ** 64n;',
    ];
    expect(calculations('application/x.ts', made.join('\n'))).to.deep.equal(
      [
        'from.position - 1n',
        'after + 1n',
        'after += BigInt(step)',
        'checkpoint - head',
        'this.position++',
      ].map((expression) => `application/x.ts: ${expression}`),
    );
  });
});

describe('the repository', () => {
  it('has only known files and folders at its top', () => {
    const named = [
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'adapters',
      'application',
      'bin',
      'docker-compose.yml',
      'Dockerfile',
      'docs',
      'domain',
      'examples',
      'package-lock.json',
      'package.json',
      'projections',
      'test',
      'tsconfig.json',
    ];
    const top = new Set(files.map((path) => path.split('/')[0] ?? ''));
    expect([...top].filter((name) => !name.startsWith('.') && !named.includes(name))).to.deep.equal([]);
  });

  it('runs on Node 20.19 and later', () => {
    const manifest = z
      .object({ type: z.literal('module'), engines: z.object({ node: z.string() }) })
      .parse(JSON.parse(read('package.json')));
    expect(manifest.engines.node).to.equal('>=20.19');
  });

  it("names no machine's paths and no registry", () => {
    const machine = new RegExp(
      ['work/', 'root/', 'tmp/wt', 'tmp/bash_jobs', 'home/[a-z]'].map((path) => `/${path}`).join('|'),
    );
    const registry = new RegExp(
      ['registry.npmjs', 'registry.yarnpkg', '"resolved"'].join('|').replaceAll('.', '\\.'),
    );
    const faults = files
      .filter((path) => !isBinary(path) && path !== 'test/architecture.test.ts')
      .flatMap((path) =>
        read(path)
          .split('\n')
          .flatMap((line, index) =>
            machine.test(line) || registry.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [],
          ),
      );
    expect(files.length).to.be.greaterThan(30);
    expect(faults).to.deep.equal([]);
  });

  it('keeps its comments within 110 columns', () => {
    const isComment = /^\s*(?:\/\*\*?|\*|\/\/)\s/;
    const faults = sources.flatMap((path) =>
      read(path)
        .split('\n')
        .flatMap((line, index) =>
          isComment.test(line) && line.length > 110 ? [`${path}:${index + 1}`] : [],
        ),
    );
    expect(faults).to.deep.equal([]);
  });

  it('keeps its pages within 110 columns, but for tables and code', () => {
    const faults = files
      .filter((path) => path.endsWith('.md'))
      .flatMap((path) =>
        read(path)
          .replaceAll(/^```[^]*?^```/gm, (code) => code.replaceAll(/[^\n]/g, ''))
          .split('\n')
          .flatMap((line, index) =>
            line.length > 110 && !line.trimStart().startsWith('|') ? [`${path}:${index + 1}`] : [],
          ),
      );
    expect(faults).to.deep.equal([]);
  });

  it('has pages that need no other page, and files of the console that are read at one go', () => {
    const folder = 'adapters/http/console/';
    const console = sources.filter((path) => path.startsWith(folder));
    const pages = console.filter((path) => path.startsWith(`${folder}pages/`));
    expect(pages).to.have.length.above(10);
    const needed = pages.flatMap((path) =>
      importsOf(path, read(path))
        .filter((specifier) => specifier.startsWith('./'))
        .map((specifier) => `${path} → ${specifier}`),
    );
    expect(needed).to.deep.equal([]);
    expect(console.filter((path) => read(path).split('\n').length > 201)).to.deep.equal([]);
  });

  it('has tests only in files that are run', () => {
    const strays = sources.filter(
      (path) =>
        path.startsWith('test/') && !/\.(test|spec)\.ts$/.test(path) && /^(describe|it)\(/m.test(read(path)),
    );
    expect(strays).to.deep.equal([]);
  });
});
