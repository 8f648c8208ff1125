import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { verifyExport } from '../../adapters/log-verifier/verify.mjs';
import { forbiddenTransitions } from '../../application/cards/allowed-transitions.js';
import { messageOf } from '../../domain/errors.js';
import { explained, ServiceRefused, WrongUsage } from './client.js';
import { progressOn } from './progress.js';
import { longVerb, option, required, type CommandInput, type VerbContext } from './verb.js';

const shared = [
  option('personal', 'include or withhold (the default)'),
  option('with-artwork', 'also the pictures on the fronts', 'switch'),
  option('since', 'the size in an older checkpoint, to prove that it is a prefix'),
  option('out', 'a file to write, which must not exist; else standard output'),
];

/** How a checkpoint must be signed. */
export const witnessOptions = [
  option('witness', 'key of a witness; several', 'list'),
  option('quorum', 'how many witnesses must have signed; by default all', 'number'),
];

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

/** An export that was broken off is kept for inspection. */
const assertNew = (path: string): void => {
  if (existsSync(path))
    throw new ServiceRefused(
      `${path} already exists, and an export never overwrites a file. Name another file with --out, or remove this one. If its last line holds no checkpoint, it was broken off and proves nothing.`,
    );
};

const created = (path: string): number => {
  try {
    return openSync(path, 'wx', 0o600);
  } catch (error) {
    assertNew(path);
    throw new ServiceRefused(`${path} can't be written: ${messageOf(error)}`);
  }
};

/** Writes all of a piece. A file that has no room for it is removed. */
const written = (path: string, file: number, piece: Uint8Array): void => {
  try {
    writeFileSync(file, piece);
  } catch (error) {
    rmSync(path);
    throw new ServiceRefused(`${path} can't be written, and was removed: ${messageOf(error)}`);
  }
};

const download = async (
  running: VerbContext,
  query: Readonly<Record<string, string | undefined>>,
): Promise<void> => {
  const { input, client, print } = running;
  const artwork = input.text('withArtwork') === undefined ? undefined : 'include';
  const call = {
    method: 'GET' as const,
    path: '/exports',
    query: { ...query, personal: input.text('personal'), artwork, since: input.text('since') },
  };
  const path = input.text('out');
  if (path === undefined) {
    let rest = Buffer.alloc(0);
    for await (const piece of client.pieces(call)) {
      const all = Buffer.concat([rest, piece]);
      const end = all.lastIndexOf(10);
      if (end >= 0) print(all.toString('utf8', 0, end));
      rest = all.subarray(end + 1);
    }
    return;
  }
  assertNew(path);
  const report = progressOn(running);
  let file: number | null = null;
  let bytes = 0;
  try {
    for await (const piece of client.pieces(call)) {
      file ??= created(path);
      written(path, file, piece);
      bytes += piece.length;
      report(() => `${megabytes(bytes)} MB written to ${path}`);
    }
  } finally {
    if (file !== null) closeSync(file);
  }
  print(`Exported to ${path}. Check it: log verify ${path} --key VKEY`);
};

/** A file that an argument names. Throws WrongUsage. */
export const readGiven = (path: string): Buffer =>
  explained(WrongUsage, `${path} can't be read`, () => readFileSync(path));

const optionsOf = (input: CommandInput) => {
  const anchor = input.text('anchor');
  return {
    keys: [...(input.list('key') ?? [])],
    witnesses: [...(input.list('witness') ?? [])],
    quorum: input.number('quorum'),
    anchor: anchor === undefined ? undefined : readGiven(anchor).toString(),
  };
};

const verify = (running: VerbContext): void => {
  const { input, show } = running;
  const file = readGiven(input.argument);
  const progress = progressOn(running);
  const onLine = (end: number): void =>
    progress(() => `${megabytes(end)} of ${megabytes(file.length)} MB checked`);
  const { report, verified } = verifyExport(file, { ...optionsOf(input), onLine });
  const forbidden = verified && input.flag('deep') === true ? forbiddenTransitions(file) : [];
  const deep = forbidden.map((finding) => `FAIL  ${finding}`);
  const isRight = verified && deep.length === 0;
  const lines = [...report.slice(0, -1), ...deep, isRight ? 'VERIFIED' : 'NOT VERIFIED'];
  show({ verified: isRight, report: lines }, lines.join('\n'));
  if (!isRight) throw new Error('The export is not verified.');
};

/** Exports, and how they are checked: `log verify` needs no service. */
export const exportVerbs = [
  longVerb('export card <code>', 'Export every event of a card, with proofs', shared, (running) =>
    download(running, { card: running.input.argument }),
  ),
  longVerb('export org <id>', 'Export every event of an organization, with proofs', shared, (running) =>
    download(running, { organization: running.input.argument }),
  ),
  longVerb(
    'export period',
    'Export every event of a period, with proofs',
    [
      option('from', 'after this position, or from this ISO 8601 time on'),
      option('to', 'up to this position, or before this ISO 8601 time'),
      option('org', 'show events of this organization, and of others only hashes'),
      ...shared,
    ],
    (running) => {
      const { input } = running;
      const organization = input.text('org');
      return download(running, { from: input.text('from') ?? '0', to: input.text('to'), organization });
    },
  ),
  longVerb(
    'log verify <file>',
    'Check an export, without the service: the same as node verify.mjs',
    [
      required('key', 'key of the log, from your contract; several for older ones', 'list'),
      ...witnessOptions,
      option('anchor', 'a file with an older checkpoint, which must be a prefix'),
      option('deep', 'true: also check that the service allowed every change of a card', 'flag'),
    ],
    async (running) => verify(running),
  ),
];
