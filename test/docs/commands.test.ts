import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { allVerbs } from '../../bin/cli/program.js';
import { files, read, root } from '../support/runner/repository.js';
import { command } from '../support/servers/programs.js';
import { aCard, startTestService, type RunningService } from '../support/http/service.js';
import { memberOf } from '../support/http/visitor.js';
import { eventually } from '../support/time/eventually.js';

const verbNames = ['console', ...allVerbs.map(({ noun, verb }) => `${noun} ${verb}`)];

/** How a command of the command line begins, wherever it is given. */
const commandLine =
  /^(\w+=\S+ )*(npm run -s cli -- |npx --no-install handwritten-cards |docker compose exec api (handwritten-cards|node dist\/bin\/cli\.js) |docker compose run --rm (--volume \S+ )?--entrypoint handwritten-cards (api|notary) )/;
const programs = /^(\w+=\S+ )*(npm|npx|node|docker|kubectl|curl|printf|echo|openssl|go|ssh-\w+) /;

interface Printed {
  readonly page: string;
  readonly text: string;
}

/** The commands that a page shows in blocks, and those in its sentences. */
const commandsOf = (page: string): readonly Printed[] => {
  const text = read(page);
  const fence = /^ *```(\w*)\n([^]*?)^ *```/gm;
  const blocks = [...text.matchAll(fence)].flatMap(([, language, block = '']) =>
    language === 'sh'
      ? block
          .replaceAll(/<<'(\w+)'\n[^]*?\1/g, '')
          .replaceAll(/\\\n */g, '')
          .split('\n')
      : [],
  );
  const inline = [...text.replaceAll(fence, '').matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
  const isCommand = (code: string): boolean =>
    programs.test(code) || verbNames.some((name) => code === name || code.startsWith(`${name} `));
  return [...blocks, ...inline.map((code) => code.replaceAll(/\s+/g, ' ')).filter(isCommand)]
    .map((line) => line.replace(/ +#.*$/, '').trim())
    .filter((line) => line !== '')
    .map((line) => ({ page, text: line }));
};

const pages = files.filter((path) => /^(docs\/[\w-]+|README|CONTRIBUTING|SECURITY)\.md$/.test(path));
const printed = pages.flatMap(commandsOf);

/** Verbs that need more than a service and its organization, and the test that runs them. */
const runElsewhere: Readonly<Record<string, string>> = {
  backup: 'test/bin/cli/backup.test.ts',
  'eventstore grant': 'test/adapters/eventstoredb/rights.test.ts',
  'log accept-restore': 'test/bin/cli/accept-restore.test.ts',
  'log copy': 'test/bin/cli/log-copy.test.ts',
  'log copy --from': 'test/bin/cli/log-move.test.ts',
  'log rebuild': 'test/bin/damaged-servers.test.ts',
  'log watch': 'test/bin/cli/export.test.ts',
  'personal give-up': 'test/docs/incidents.test.ts',
  promote: 'test/bin/rehearsal.test.ts',
  'queue redrive': 'test/docs/incidents.test.ts',
  'personal rotate': 'test/bin/cli/personal.test.ts',
  restore: 'test/bin/cli/backup.test.ts',
  'webhook listen': 'test/bin/cli/listen.test.ts',
  'webhook trigger': 'test/bin/cli/listen.test.ts',
};

/** What is not run, and why. */
const notRun: readonly (readonly [RegExp, string])[] = [
  [/^docker /, 'there may be no Docker here: test/docker-compose.test.ts reads the files'],
  [/^kubectl /, 'there may be no cluster here: test/installation.test.ts reads the manifests'],
  [/^npm (ci|install)\b/, 'it needs a registry; every run of the tests begins with it'],
  [/^(\w+=\S+ )*(npm (test|start|run)|node bin\/run\.mjs serve)\b/, 'it never ends, or is this run'],
  [/tracing\.mjs|^export OTEL_/, 'test/bin/wiring/tracing.test.ts does it without a registry'],
  [/verify\.mjs/, 'test/golden/exports.test.ts runs it'],
  [/receiver\.mjs/, 'test/examples runs it'],
  [/^export \w+=…/, 'somebody has to fill it in'],
  [
    /^(go install|(SSH_\w+=\S+ )?ssh-|witnessctl|litewitness|omniwitness|generate_keys|cat )/,
    'another program',
  ],
];

/** What a shell does here as it stands, with the build of this checkout, and how its output looks. */
const byShell: Readonly<Record<string, RegExp>> = {
  [String.raw`printf '%s:%s\n' "$(openssl rand -hex 4)" "$(openssl rand -base64 32)"`]:
    /^[0-9a-f]{8}:[\w+/]{43}=\n$/,
  'openssl rand -base64 32': /^[\w+/]{43}=\n$/,
  'node dist/bin/make-secrets.js': /^/,
  'LOG_KEY_FILE= LOG_HEAD_FILE= DATA_DIR=./new LOG_ORIGIN=cards.example.com/log2 node dist/bin/make-secrets.js':
    /^/,
  "echo 'cards.example.com/log+0a1b2c3d+AQ…' >> ./new/log.key": /^$/,
};

/** A verb that is named without its options. */
const options: Readonly<Record<string, string>> = {
  'credits withdraw': '--org $ORG --amount 1 --reason Test',
  'delivery list': '--org $ORG',
  'erase find': '--org $ORG --name lovelace',
  'hook create': '--org $ORG --signed-by Acme',
  'key create': '--org $ORG --scopes cards:send --label Ada',
  'key list': '--org $ORG',
  'key revoke': '<id> --org $ORG',
  'card history': '<code>',
  'webhook enable': '<id> --org $ORG',
  'webhook replay': '<id> --org $ORG --from 0',
  'webhook resend': '<id> --org $ORG',
};

describe('a command that the documentation prints', () => {
  let directory = '';
  let service: RunningService;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'cards-'));
    service = await startTestService();
  });
  after(async () => {
    await service.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** Does not hold up this process, which may have to answer. */
  const inShell = async (text: string, env: Readonly<Record<string, string>> = {}) => {
    const path = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;
    const shell = spawn('bash', ['-c', text], { cwd: directory, env: { PATH: path, ...env } });
    let stdout = '';
    shell.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    const [status] = (await once(shell, 'close')) as [number];
    return { status, stdout };
  };
  const verbOf = (text: string): string | undefined =>
    verbNames
      .toSorted((a, b) => b.length - a.length)
      .find((name) => text === name || text.startsWith(`${name} `));
  /** The words after the program's name; null if it is no command of the command line. */
  const asked = (text: string): string | null => {
    const rest = text.replace(commandLine, '');
    return rest !== text || verbOf(rest) !== undefined ? rest.replace(/ \| jq .*$/, '') : null;
  };

  it('is accepted and done, if it is one of the command line', async () => {
    const wrong: string[] = [];
    const done = new Map<string, Promise<string | null>>();
    const attempt = async (text: string): Promise<string | null> => {
      if (Object.keys(runElsewhere).some((begin) => `${text} `.startsWith(`${begin} `))) return null;
      const name = verbOf(text);
      if (name === undefined) return /^(<noun>|…)/.test(text) ? null : 'there is no such verb';
      const isBare = text.replace(/ …$/, '') === name;
      const full = isBare ? `${name} ${options[name] ?? ''}` : text;
      const words = await meant(service, full, directory);
      const { code, error } = await command(words, { BASE_URL: service.baseUrl, DATA_DIR: service.dataDir });
      return code === 0 ? null : `${words.join(' ')}: ${code} ${error.trim()}`;
    };
    for (const { page, text } of printed) {
      const words = asked(text);
      if (words === null) continue;
      const outcome = await (done.get(words) ?? attempt(words));
      done.set(words, Promise.resolve(outcome));
      if (outcome !== null) wrong.push(`${page}: ${text}: ${outcome}`);
    }
    expect(wrong).to.deep.equal([]);
  }).timeout(60_000);

  it('is run by the test that is named, if it needs more than a service', () => {
    for (const [name, test] of Object.entries(runElsewhere))
      expect(read(test), `${test} runs ${name}`).to.match(
        new RegExp(`'${name.replaceAll(' ', "', '")}'|['\` ]${name}\\b`),
      );
  });

  it('names files and scripts that exist, if it is one of npm', () => {
    const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: object };
    for (const { page, text } of printed.filter((each) => asked(each.text) === null)) {
      for (const [, script = ''] of text.matchAll(/npm run (?:-s )?(\w+)/g))
        expect(Object.keys(scripts), `${page}: ${text}`).to.include(script);
      for (const [path] of text.matchAll(/(test|bin|examples|docs)\/[\w/.-]+/g))
        expect(
          existsSync(join(root, path)) || existsSync(join(root, 'dist', path)),
          `${page}: ${text}`,
        ).to.equal(true);
    }
  });

  it('does what it says, if it is one of the shell', async () => {
    for (const [text, output] of Object.entries(byShell)) {
      const { status, stdout } = await inShell(text.replace('dist/', `${root}dist/`), {});
      expect(status, text).to.equal(0);
      expect(stdout, text).to.match(output);
    }
  }).timeout(30_000);

  it('gets a 2xx, if it is one of curl', async () => {
    const { org, key } = await service.tenant();
    const hook = await service.operator(`/operator/v1/organizations/${org}/hooks`, {
      body: {
        signed_by: 'The Shop',
        template: 'Dear {{first_name}}, thank you for order {{order.number}}. {{sender_name}}',
      },
    });
    await writeFile(join(directory, '.curlrc'), 'fail-with-body');
    for (const { page, text } of printed.filter((each) => each.text.startsWith('curl '))) {
      const { baseUrl } = service;
      const env = {
        CURL_HOME: directory,
        API_KEY: key,
        HOOK_URL: String(hook.body['url']),
      };
      const line = text.replaceAll('http://127.0.0.1:8080', baseUrl);
      const { status, stdout } = await inShell(line, env);
      expect(status, `${page}: ${text}: ${stdout}`).to.equal(0);
    }
  });

  it('is one of these, or there is a reason why it is not run', () => {
    const isKnown = (text: string): boolean =>
      asked(text) !== null ||
      text in byShell ||
      text.startsWith('curl ') ||
      notRun.some(([pattern]) => pattern.test(text));
    expect(
      printed.filter(({ text }) => !isKnown(text)).map(({ page, text }) => `${page}: ${text}`),
    ).to.deep.equal([]);
  });
});

/** The words of a command, with things of a new organization in the place of those that it leaves open. */
const meant = async (
  service: RunningService,
  text: string,
  directory: string,
): Promise<readonly string[]> => {
  const { org, api, keyId } = await service.tenant();
  const base = `/operator/v1/organizations/${org}`;
  const card = await api('/api/v1/cards', { body: aCard() });
  const [noun = ''] = text.split(' ');
  if (noun === 'erase') await api(`/api/v1/cards/${card.id}`, { method: 'DELETE' });
  const made: Readonly<Record<string, () => Promise<string>>> = {
    key: () => Promise.resolve(keyId),
    hook: async () => (await service.operator(`${base}/hooks`, { body: { signed_by: 'Acme' } })).id,
    webhook: async () => (await api('/api/v1/webhooks', { body: { url: 'https://hooks.example.com/' } })).id,
    contact: async () => (await api('/api/v1/contacts', { body: { name: 'Ada Lovelace' } })).id,
    delivery: async () => {
      const endpoint = await api('/api/v1/webhooks', { body: { url: 'https://hooks.example.com/' } });
      await api('/api/v1/cards', { body: aCard() });
      const deliveries = `${base}/deliveries?endpoint=${endpoint.id}`;
      const [row] = await eventually(async () => {
        const { rows } = await service.operator(deliveries);
        return rows.length > 0 && rows;
      });
      return String(row?.['id']);
    },
    member: async () => {
      await memberOf(service, org, 'viewer');
      return String((await service.operator(`${base}/members`)).rows[0]?.['id']);
    },
    projection: () => Promise.resolve('cards'),
    request: () => Promise.resolve(card.headers.get('x-request-id') ?? ''),
  };
  const id = /<(old |delivery )?id>|<name>|req_…|contact ID/.test(text)
    ? await (
        made[text.includes('contact ID') ? 'contact' : text.includes('--endpoint') ? 'webhook' : noun] ??
        (() => Promise.resolve(''))
      )()
    : '';
  const filled = text
    .replaceAll(/"?\$ORG"?/g, org)
    .replace(/contact ID/, `contact ${id}`)
    .replaceAll(/(?<= )ID\b/g, org)
    .replaceAll(/<(old |delivery )?id>|<name>|req_…/g, id)
    .replaceAll(/<code>|HC-7K3M9QX/g, card.id)
    .replace('<time or position>', '0')
    .replace('<time>', new Date(Date.now() - 3_600_000).toISOString())
    .replace('<credits>', '10')
    .replace(/--at \S+/, `--at ${new Date().toISOString()}`)
    .replace(/ N\b/, ' 0')
    .replaceAll(/[[\]]/g, '')
    .replace(/--out (\S+)/, `--out ${directory}/${org}-$1`)
    .replace(/^events watch(?!.*--until)/, 'events watch --until head');
  return [...filled.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, word]) => single ?? double ?? word ?? '',
  );
};
