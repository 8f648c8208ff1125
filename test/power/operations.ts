import { Buffer } from 'node:buffer';

/** What a process did to the files of its data directory, in order. Paths are names in that directory. */
export type Operation =
  | { readonly kind: 'create'; readonly path: string }
  | { readonly kind: 'write'; readonly path: string; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'resize'; readonly path: string; readonly size: number }
  | { readonly kind: 'link'; readonly from: string; readonly path: string }
  | { readonly kind: 'rename'; readonly from: string; readonly path: string }
  | { readonly kind: 'unlink'; readonly path: string }
  | { readonly kind: 'sync'; readonly path: string }
  /** The entries of the directory itself. */
  | { readonly kind: 'sync directory' }
  /** A response with a 2xx left the process. */
  | { readonly kind: 'answered'; readonly request: string };

/** What strace must be told so that `operationsFrom` understands it. */
export const straceArguments = (output: string): readonly string[] => [
  // The service, not strace, is the child that signals reach.
  '-D',
  '-f',
  '--seccomp-bpf',
  '-y',
  '-xx',
  '-s',
  '100000000',
  '-e',
  'trace=openat,creat,write,writev,pwrite64,pwritev,ftruncate,fallocate,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat',
  '-o',
  output,
];

const bytesOf = (text: string): Buffer => Buffer.from(text.replaceAll('\\x', ''), 'hex');
const textOf = (text: string): string => bytesOf(text).toString('utf8');

interface Call {
  readonly name: string;
  readonly given: string;
  readonly result: string;
}

/**
 * The calls of a trace, whole, each where it ended: a call that another thread interrupted stands in two
 * lines.
 */
function* callsOf(trace: string): Generator<Call> {
  const begun = new Map<string, string>();
  for (const line of trace.split('\n')) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (rest.endsWith('<unfinished ...>')) {
      begun.set(thread, rest.slice(0, -'<unfinished ...>'.length));
      continue;
    }
    const resumed = rest.startsWith('<... ') ? rest.indexOf(' resumed>') : -1;
    const whole =
      resumed < 0 ? rest : `${begun.get(thread) ?? ''}${rest.slice(resumed + ' resumed>'.length)}`;
    const open = whole.indexOf('(');
    const end = whole.lastIndexOf(') ');
    const equals = whole.indexOf('= ', end);
    if (open < 0 || end < 0 || equals < 0) continue;
    yield {
      name: whole.slice(0, open),
      given: whole.slice(open + 1, end).trimEnd(),
      result: whole.slice(equals + 2),
    };
  }
}

const quoted = /"((?:\\x[0-9a-f]{2})*)"/g;
const textsIn = (given: string): readonly string[] =>
  [...given.matchAll(quoted)].map(([, text = '']) => text);
/** What the file descriptor at the beginning of some text leads to. */
const leadsTo = (text: string): string => textOf(/^\d+<((?:\\x[0-9a-f]{2})*)>/.exec(text)?.[1] ?? '');
const lastNumber = (given: string): number => Number(/(\d+)$/.exec(given)?.[1] ?? NaN);

/** Reads what strace has written of processes that used a data directory one after the other. */
export const operationsFrom = (trace: string, directory: string): readonly Operation[] => {
  const operations: Operation[] = [];
  const there = new Set<string>();
  /** Where the next `write` to a file goes that was opened. */
  const offsets = new Map<string, number>();
  /** Without the folder of the fronts, which come before what names them, and are tested by themselves. */
  const named = (path: string): string | null =>
    path.startsWith(`${directory}/`) && !path.startsWith(`${directory}/artwork`)
      ? path.slice(directory.length + 1)
      : null;
  const opened = ({ given, result }: Call): void => {
    const name = named(leadsTo(result));
    if (name === null) return;
    offsets.set(name, 0);
    if (given.includes('O_CREAT') && !there.has(name)) operations.push({ kind: 'create', path: name });
    if (given.includes('O_TRUNC')) operations.push({ kind: 'resize', path: name, size: 0 });
    there.add(name);
  };
  const written = ({ name: call, given, result }: Call): void => {
    const to = leadsTo(given);
    const bytes = Buffer.concat(textsIn(given).map(bytesOf)).subarray(0, Number(result));
    const path = named(to);
    if (path === null) {
      const [, request] = /^HTTP\/1\.1 2\d\d [^]*?x-request-id: (\S+)/i.exec(
        to.startsWith('socket:') ? bytes.toString('latin1') : '',
      ) ?? [null, null];
      if (request !== null && request !== undefined) operations.push({ kind: 'answered', request });
      return;
    }
    const at = call === 'pwrite64' || call === 'pwritev' ? lastNumber(given) : (offsets.get(path) ?? 0);
    if (call === 'write' || call === 'writev') offsets.set(path, at + bytes.length);
    operations.push({ kind: 'write', path, at, bytes });
  };
  const synced = ({ given }: Call): void => {
    const to = leadsTo(given);
    const path = named(to);
    if (to === directory) operations.push({ kind: 'sync directory' });
    else if (path !== null) operations.push({ kind: 'sync', path });
  };
  const moved = (kind: 'link' | 'rename', { given }: Call): void => {
    const [from = null, path = null] = textsIn(given).map((text) => named(textOf(text)));
    if (path === null || from === null) return;
    there.add(path);
    if (kind === 'rename') there.delete(from);
    operations.push({ kind, from, path });
  };
  const removed = ({ given }: Call): void => {
    const [path = null] = textsIn(given).map((text) => named(textOf(text)));
    if (path === null) return;
    there.delete(path);
    operations.push({ kind: 'unlink', path });
  };
  const resized = ({ given }: Call): void => {
    const path = named(leadsTo(given));
    if (path !== null) operations.push({ kind: 'resize', path, size: lastNumber(given) });
  };
  const readers: Readonly<Record<string, (call: Call) => void>> = {
    openat: opened,
    creat: opened,
    write: written,
    writev: written,
    pwrite64: written,
    pwritev: written,
    fsync: synced,
    fdatasync: synced,
    ftruncate: resized,
    rename: (call) => moved('rename', call),
    renameat: (call) => moved('rename', call),
    renameat2: (call) => moved('rename', call),
    link: (call) => moved('link', call),
    linkat: (call) => moved('link', call),
    unlink: removed,
    unlinkat: removed,
    fallocate: ({ given }) => {
      if (named(leadsTo(given)) !== null)
        throw new Error(`a call that cuts can't follow: fallocate(${given})`);
    },
  };
  for (const call of callsOf(trace)) if (!call.result.startsWith('-1')) readers[call.name]?.(call);
  return operations;
};
