import { readFileSync, writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { headsIn, witnessServer } from '../adapters/log-witness/server.js';
import { SystemClock } from '../adapters/system/clock.js';
import { SystemEntropy } from '../adapters/system/entropy.js';
import { messageOf } from '../domain/errors.js';
import {
  parseSigner,
  parseVkey,
  signerFrom,
  signerText,
  vkeyOf,
  type NoteSigner,
} from '../domain/signed-note.js';

/** The options of the command line. */
interface Options {
  readonly name: string;
  readonly log: readonly string[];
  readonly key: string;
  readonly state: string;
  readonly host: string;
  readonly port: string;
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** The key in the file, which is made if there is none. */
const signerIn = (path: string, name: string): NoteSigner => {
  try {
    return parseSigner(readFileSync(path, 'utf8').trim());
  } catch (error) {
    if (!isMissing(error)) throw error;
    const signer = signerFrom(name, 'cosignature', new SystemEntropy().bytes(32));
    writeFileSync(path, `${signerText(signer)}\n`, { mode: 0o600, flag: 'wx' });
    return signer;
  }
};

const several = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/**
 * A witness for the checkpoints of logs, for a site of one's own elsewhere: it signs a checkpoint only if
 * what it signed before is a prefix of it. (docs/exports.md#witnesses)
 */
const run = (): void => {
  const program = new Command('witness')
    .description('Signs checkpoints that have grown from those that it signed before')
    .requiredOption('--name <name>', 'its name, such as witness.example.com/w1; stands in its key forever')
    .requiredOption('--log <vkey>', 'key of a log that it signs for; several', several, [])
    .requiredOption('--key <file>', 'its signing key; made if there is none')
    .requiredOption('--state <file>', 'what it has signed last: it must never lose this file')
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on', '8090')
    .parse();
  const { name, log, key, state, host, port } = program.opts<Options>();
  const signer = signerIn(key, name);
  if (signer.name !== name || signer.kind !== 'cosignature')
    throw new Error(`${key} holds the key of ${signer.name}, which is not a witness of that name.`);
  const server = witnessServer({
    logs: log.map(parseVkey),
    signer,
    heads: headsIn(state),
    clock: new SystemClock(),
  });
  server.listen(Number(port), host, () => {
    const address = server.address();
    const at = address === null || typeof address === 'string' ? port : address.port;
    process.stdout.write(`${vkeyOf(signer)}\nlistening on http://${host}:${at}\n`);
  });
  const stop = (): void => {
    server.close();
    server.closeIdleConnections();
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
};

try {
  run();
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
