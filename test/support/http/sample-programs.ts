import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '../time/eventually.js';
import { programsOnPath } from './docs-samples.js';

/** The languages of samples, in the order in which pages show them. */
export const languages = ['curl', 'Node', 'Python'] as const;
export type Language = (typeof languages)[number];

/** How a program in a language is run. */
interface Runner {
  readonly command: readonly [program: string, ...args: readonly string[]];
  /** A program that runs samples one after the other, and prints a name and a status for each. */
  readonly all: (samples: ReadonlyMap<string, string>) => string;
}

const runners: Readonly<Record<Language, Runner>> = {
  curl: {
    command: ['sh', '-c'],
    all: (samples) =>
      [
        `curl() { command curl -sS -w '\\n= %{http_code}\\n' "$@"; }`,
        ...[...samples].flatMap(([name, sample]) => [`echo '--- ${name}'`, sample]),
      ].join('\n'),
  },
  Node: {
    command: ['node', '--input-type=module', '-e'],
    all: (samples) =>
      [
        'const plain = globalThis.fetch;',
        'globalThis.fetch = async (...sent) => {',
        '  const response = await plain(...sent);',
        "  console.log('= ' + response.status);",
        '  return response;',
        '};',
        ...[...samples].flatMap(([name, sample]) => [
          `console.log('--- ${name}');`,
          `try {\n${sample}\n} catch (error) { console.log(error); }`,
        ]),
      ].join('\n'),
  },
  Python: {
    command: ['python3', '-c'],
    all: (samples) =>
      [
        'import urllib.request',
        'plain = urllib.request.urlopen',
        'def urlopen(request):',
        '    response = plain(request)',
        '    print("=", response.status)',
        '    return response',
        'urllib.request.urlopen = urlopen',
        ...[...samples].flatMap(([name, sample]) => [
          `print("--- ${name}")`,
          `try: exec(${JSON.stringify(sample)}, {})`,
          'except Exception as error: print(error, getattr(error, "fp", None) and error.fp.read())',
        ]),
      ].join('\n'),
  },
};

type Texts = Readonly<Record<string, string>>;

export const isInstalled = (language: Language): boolean =>
  spawnSync(runners[language].command[0], ['--version']).error === undefined;

const started = (language: Language, program: string, environment: Texts) => {
  const [command, ...args] = runners[language].command;
  const child = spawn(command, [...args, program], {
    env: { ...programsOnPath, ...environment },
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const closed = once(child, 'close');
  return {
    output: () => output,
    closed,
    kill: async () => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
      await closed;
    },
  };
};

/** What became of a sample: NaN if it got no response. */
export interface SampleResult {
  readonly status: number;
  readonly output: string;
}

export const notRun: SampleResult = { status: NaN, output: 'it was not run' };

/** Runs samples one after the other in one process, each whatever became of those before it. */
export const runAll = async (
  language: Language,
  samples: ReadonlyMap<string, string>,
  environment: Texts,
): Promise<ReadonlyMap<string, SampleResult>> => {
  const { output, closed } = started(language, runners[language].all(samples), environment);
  await closed;
  return new Map(
    output()
      .split(/^--- /m)
      .map((part) => {
        const [name = '', ...lines] = part.split('\n');
        const said = lines.join('\n');
        return [name, { status: Number(/^= (\d+)$/m.exec(said)?.[1]), output: said }];
      }),
  );
};

/** Runs samples that follow a stream, all at once, until each has shown something of what `happen` does. */
export const untilHeard = async (
  language: Language,
  samples: ReadonlyMap<string, string>,
  environment: Texts,
  happen: () => Promise<void>,
): Promise<void> => {
  const programs = [...samples.values()].map((sample) => started(language, sample, environment));
  try {
    await eventually(
      async () => {
        await happen();
        return programs.every(({ output }) => /^data: \{/m.test(output()));
      },
      { what: 'an event in each stream', within: 60_000 },
    );
  } finally {
    await Promise.all(programs.map(({ kill }) => kill()));
  }
};
