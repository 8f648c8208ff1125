import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { programsOnPath, samplesOn, shownText, type PageSample } from '../../support/http/docs-samples.js';
import { start, type Running } from '../../support/servers/programs.js';
import { eventually } from '../../support/time/eventually.js';

const checkout = fileURLToPath(new URL('../../../../', import.meta.url));

/** What a reader copies out of what was printed, by the variable that it goes into. */
const copied: Readonly<Record<string, RegExp>> = {
  API_KEY: /hck_[\w-]{43}/,
  CARD: /(?<="id":")HC-[0-9A-Z]{7}/,
  ORG: /(?<="organization":\{"id":")[^"]+/,
  HOOK_URL: /http\S+\/api\/v1\/hooks\/[\w-]+/,
  WEBHOOK_SECRET: /whsec_[A-Za-z0-9+/]{43}=/,
};

/** Each start of the command line takes seconds where the machine is busy. */
const within = 120_000;

/** A terminal that somebody types into. */
interface Terminal {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly type: (text: string) => void;
}

describe('the quick start of the documentation', () => {
  let directory: string;
  let service: Running;
  let baseUrl: string;
  let page: string;
  let samples: readonly PageSample[];
  let toReceiver: Server;
  const terminals = new Map<number, Terminal>();

  /** What stands at the address to which events are passed on: it leads to the receiver, wherever that is. */
  const leadToReceiver = (socket: Socket): void => {
    const [, port] = /listening on \S+:(\d+)\//.exec(terminals.get(4)?.output() ?? '') ?? [];
    if (port === undefined) return void socket.destroy();
    const receiver = connect(Number(port), '127.0.0.1');
    for (const end of [socket, receiver]) end.on('error', () => undefined);
    socket.pipe(receiver).pipe(socket);
  };

  /** The first sample starts the service; here it has a port and a folder of its own. */
  const startAsShown = (sample: string): Running => {
    const [, name = '', value = ''] = /^(\w+)=(\w+) npm start$/.exec(sample) ?? [];
    expect(name, sample).to.equal('FLOOR_SIMULATION');
    return start('serve', [], { PORT: '0', DATA_DIR: directory, [name]: value });
  };

  before(async function () {
    this.timeout(300_000);
    directory = mkdtempSync(join(tmpdir(), 'card-quick-start-'));
    // What the samples write stays out of the checkout.
    for (const name of ['package.json', 'bin', 'examples'])
      symlinkSync(join(checkout, name), join(directory, name));
    service = startAsShown('FLOOR_SIMULATION=on npm start');
    const named = () => /^Handwritten Card Service: (\S+)\n/m.exec(service.out())?.[1];
    baseUrl = await eventually(() => service.out().includes('"listening"') && named(), {
      what: 'a listening service',
      within,
    });
    page = await (await fetch(`${baseUrl}/docs/quick-start`)).text();
    samples = samplesOn(page);
    toReceiver = createServer(leadToReceiver).listen(0, '127.0.0.1');
    await once(toReceiver, 'listening');
  });
  after(async () => {
    for (const { child } of terminals.values())
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    toReceiver.close();
    service.kill('SIGKILL');
    await service.ended;
    rmSync(directory, { recursive: true, force: true });
  });

  const terminalOf = (number: number): Terminal => {
    const known = terminals.get(number);
    if (known !== undefined) return known;
    const child = spawn('sh', [], {
      cwd: directory,
      detached: true,
      env: {
        ...programsOnPath,
        HOME: directory,
        DATA_DIR: directory,
        PORT: '0',
      },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const made = {
      child,
      output: () => output,
      type: (text: string) => void child.stdin.write(`${text}\n`),
    };
    terminals.set(number, made);
    return made;
  };

  const printed = (): string =>
    [service.out(), ...[...terminals.values()].map(({ output }) => output())].join('\n');

  /** Puts what was printed where the page leaves it out, and an address that leads to the receiver. */
  const filledIn = (text: string): string =>
    text
      .replaceAll(/^export (\w+)=\S*…$/gm, (line, name: string) => {
        const value = copied[name]?.exec(printed())?.[0];
        if (value === undefined) throw new Error(`Nothing printed goes into: ${line}`);
        return `export ${name}='${value}'`;
      })
      .replaceAll(':3000/', `:${(toReceiver.address() as AddressInfo).port}/`);

  /** Types a sample. Those of the second terminal end, and are waited for; the others go on. */
  const run = async ({ text, terminal }: PageSample, at: number): Promise<string> => {
    const { type, output } = terminalOf(terminal ?? 2);
    const before = output().length;
    type(await eventually(() => filledIn(text), { what: 'what goes into the sample', within }));
    if (terminal !== 2) {
      await eventually(() => /Ready: |listening on /.test(output()), { what: text, within });
      return '';
    }
    const mark = `done with ${at}`;
    type(`echo; echo ${mark.replace('done', 'do""ne')}`);
    await eventually(() => output().includes(mark), { what: text, within });
    return output().slice(before, output().lastIndexOf(mark));
  };

  it('leads from nothing to a card, a repeat, a contact, a hook and a webhook, typed as it stands', async function () {
    this.timeout(600_000);
    const typed = samples.filter(({ terminal }) => terminal !== null);
    const [first, ...rest] = typed;
    expect(first?.text).to.equal('FLOOR_SIMULATION=on npm start');
    const outputs: string[] = [];
    for (const [at, sample] of rest.entries()) outputs.push(await run(sample, at));
    const said = (pattern: RegExp): number => outputs.filter((each) => pattern.test(each)).length;
    expect(outputs.join('\n')).not.to.match(/"error":\{/);
    expect({
      organization: said(/"object":"account"/),
      scheduled: said(/"object":"card","status":"scheduled"/),
      repeated: said(/idempotent-replay: true/i),
      lookedUp: said(/"steps":\[/),
      contact: said(/"object":"contact"/),
    }).to.deep.equal({ organization: 1, scheduled: 4, repeated: 1, lookedUp: 1, contact: 1 });
    const [code = ''] = /HC-\w+/.exec(outputs.at(-1) ?? '') ?? [];
    await eventually(() => terminalOf(4).output().includes(`card.created ${code}`), {
      what: 'the event at the receiver',
      within,
    });
  });

  it('takes a quarter of an hour: to read, and to type or copy', () => {
    const main = /<main[^]*?<\/main>/.exec(page)?.[0] ?? '';
    const words = shownText(main.replaceAll(/<pre[^]*?<\/pre>/g, ' '))
      .split(/\s+/)
      .filter((word) => word !== '').length;
    const wordsAMinute = 120;
    const typed = samples.filter(({ terminal }) => terminal !== null).length;
    expect(words / wordsAMinute + typed * 0.5).to.be.below(15);
  });
});
