import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'mocha';
import { marker } from '../runner/engines.js';
import { exampleFile, startProgram, type RunningExample } from './examples.js';

const program = process.env['PYTHON'] ?? 'python3';

/** Whether it runs the example, and can make a virtual environment. */
const isUsable = (): boolean =>
  spawnSync(program, ['-c', 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))']).status ===
  0;

/** A suite that needs Python, skipped if there is none: the program in PYTHON, else python3 on the PATH. */
export const describeWithPython = (title: string, body: () => void): void => {
  if (isUsable()) describe(title, body);
  else describe.skip(`${title} ${marker(['PYTHON'])}`, body);
};

/** The commands in the head of the example, as somebody would type them below its folder. */
const typed = (): readonly string[] =>
  [...readFileSync(exampleFile('python/send.py'), 'utf8').matchAll(/^ {4}(?! )(.*(?:(?<=\\)\n.*)*)$/gm)]
    .map(([, command = '']) => command)
    .filter((command) => /^(cd|python3|pip|openapi-python-client|API_KEY)\b/.test(command));

/** What pip says if it reaches no index: a version that isn't there is something else. */
const noIndex = /from versions: none|connection broken|timed out|Max retries/;

const environment = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
);

/** A copy of examples/python in which its commands are typed. */
export class PythonExample {
  readonly #folder = mkdtempSync(join(tmpdir(), 'card-python-'));
  readonly #baseUrl: string;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
    for (const name of ['send.py', 'requirements.txt', 'config.yml'])
      cpSync(exampleFile(`python/${name}`), join(this.#folder, name));
  }

  #type(command: string): RunningExample {
    const here = command
      .replaceAll('http://127.0.0.1:8080', this.#baseUrl)
      .replace(/^python3/, `'${program}'`);
    const activated = command.startsWith('python3') ? '' : '. .venv/bin/activate\n';
    return startProgram('sh', ['-c', `cd '${this.#folder}'\n${activated}${here}`], environment);
  }

  /** Types all but the last command. Null if pip reaches no index; throws what went wrong otherwise. */
  async prepare(): Promise<string | null> {
    const [first, ...rest] = typed().slice(0, -1);
    if (first !== 'cd examples/python') throw new Error(`The first command is ${first}`);
    let printed = '';
    for (const command of rest) {
      const running = this.#type(command);
      const code = await running.ended;
      if (code !== 0 && command.startsWith('pip ') && noIndex.test(running.output())) return null;
      if (code !== 0) throw new Error(`${command}\n${running.output()}`);
      printed += running.output();
    }
    return printed;
  }

  /** Types the last command, for a key and an order. */
  send(key: string, order: string, settings = ''): RunningExample {
    const command = typed().at(-1) ?? '';
    return this.#type(
      `${settings} BASE_URL=${this.#baseUrl} ${command.replace('hck_…', key).replace('order-4711', order)}`,
    );
  }

  /** Makes the client of another document; throws if there is a warning. */
  async generate(document: string, into: string): Promise<void> {
    const [command = ''] = typed().filter((each) => each.startsWith('openapi-python-client'));
    const other = command
      .replace('/api/openapi.json', document)
      .replace('handwritten_cards', `${into} --fail-on-warning`);
    const running = this.#type(other);
    if ((await running.ended) !== 0) throw new Error(`${other}\n${running.output()}`);
  }

  /** The names of the operations that a client has. */
  operationsOf(client: string): readonly string[] {
    const api = join(this.#folder, client, 'api');
    return readdirSync(api, { recursive: true, encoding: 'utf8' })
      .filter((path) => /\w\.py$/.test(path) && !path.endsWith('__init__.py'))
      .map((path) => path.replace(/^.*\/|\.py$/g, ''));
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
