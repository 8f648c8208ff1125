import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { dirname } from 'node:path';
import {
  checkpointText,
  parseCheckpointText,
  type NoteKey,
  type NoteSigner,
  type TreeHead,
} from '../../domain/signed-note.js';
import { witness } from '../../domain/witnessing.js';
import type { Clock } from '../../application/ports/system.js';

/** The heads that a witness has signed last, in a file. What `keep` has returned from is durable. */
export interface WitnessedHeads {
  all(): readonly TreeHead[];
  keep(head: TreeHead): void;
}

const readHeads = (path: string): TreeHead[] => {
  try {
    const texts: readonly string[] = JSON.parse(readFileSync(path, 'utf8'));
    return texts.map(parseCheckpointText);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
};

const write = (path: string, text: string): void => {
  const file = openSync(`${path}.new`, 'w', 0o600);
  writeSync(file, text);
  fsyncSync(file);
  closeSync(file);
  renameSync(`${path}.new`, path);
  const folder = openSync(dirname(path), 'r');
  fsyncSync(folder);
  closeSync(folder);
};

export const headsIn = (path: string): WitnessedHeads => {
  let heads = readHeads(path);
  return {
    all: () => heads,
    keep: (head) => {
      const kept = [...heads.filter(({ origin }) => origin !== head.origin), head];
      write(path, `${JSON.stringify(kept.map(checkpointText), null, 2)}\n`);
      heads = kept;
    },
  };
};

const longestBody = 64 * 1024;

const bodyOf = async (request: IncomingMessage): Promise<string | null> => {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of request) {
    const bytes = Buffer.from(piece as Uint8Array);
    length += bytes.length;
    if (length > longestBody) return null;
    pieces.push(bytes);
  }
  return Buffer.concat(pieces).toString();
};

export interface WitnessOptions {
  /** The keys of the logs that it signs for. */
  readonly logs: readonly NoteKey[];
  readonly signer: NoteSigner;
  readonly heads: WitnessedHeads;
  readonly clock: Clock;
}

/** A witness: `POST /add-checkpoint` (c2sp.org/tlog-witness). What it decides and writes down is one step. */
export const witnessServer = ({ logs, signer, heads, clock }: WitnessOptions): Server =>
  createServer((request, response) => {
    const answer = (status: number, body: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, {
        'content-type': type,
        connection: status === 413 ? 'close' : 'keep-alive',
      });
      response.end(body);
    };
    const handle = async (): Promise<void> => {
      if (request.url !== '/add-checkpoint') return answer(404, 'POST /add-checkpoint\n');
      if (request.method !== 'POST') return answer(405, 'POST /add-checkpoint\n');
      const body = await bodyOf(request);
      if (body === null) return answer(413, 'That is too long.\n');
      const decided = witness(heads.all(), logs, signer, body, Math.floor(clock.now() / 1000));
      if (decided.head !== null) heads.keep(decided.head);
      answer(decided.status, decided.body, decided.status === 409 ? 'text/x.tlog.size' : undefined);
    };
    handle().catch(() => answer(500, 'Nothing was signed.\n'));
  });
