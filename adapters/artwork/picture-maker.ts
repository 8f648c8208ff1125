import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { MadeFronts, PictureMaker } from '../../application/ports/artwork.js';
import { limitConcurrency } from '../../application/timing/limit-concurrency.js';
import { Front } from '../../domain/artwork.js';
import { DomainError } from '../../domain/errors.js';
import type { Milliseconds } from '../../domain/ids.js';

const usualTime: Milliseconds = 45_000;
/** In megabytes: what is not a picture, whose memory its dots limit. */
const maxHeap = 128;

/** Several times what all pictures of a file take. */
const maxOutput = 64_000_000;

/** `screen`: how long the smaller pictures are. */
const Head = z.union([
  z.object({ refused: z.string() }),
  z.object({ fronts: z.array(z.object({ front: Front, screen: z.tuple([z.int(), z.int()]) })) }),
]);

const refused = (message: string): DomainError => new DomainError('invalid_body', message, 'file');
const tooMuch = (): DomainError =>
  refused('The picture took too much time or memory. Save it as JPEG with fewer dots, and upload that.');

/**
 * Makes each picture in a process of its own, one at a time: what a picture can do to its library ends with
 * that process.
 */
export const pictureProcess = (
  program = new URL('./picture-process.js', import.meta.url),
  timeout = usualTime,
): PictureMaker => {
  const inTurn = limitConcurrency(1);
  return {
    make: (file) => inTurn(async () => frontsIn(await outputOf(fileURLToPath(program), timeout, file))),
  };
};

const frontsIn = (output: Buffer): MadeFronts => {
  const end = output.indexOf('\n');
  if (end === -1) throw tooMuch();
  const head = Head.parse(JSON.parse(output.toString('utf8', 0, end)));
  if ('refused' in head) throw refused(head.refused);
  let at = end + 1;
  const next = (length: number): Buffer => output.subarray(at, (at += length));
  const made = head.fronts.map(({ front, screen: [preview, thumbnail] }) => ({
    ...front,
    pictures: { master: next(front.bytes), preview: next(preview), thumbnail: next(thumbnail) },
  }));
  // It may end in the middle of a picture.
  const isWhole = made.every(({ digest, pictures }) => hash('sha256', pictures.master) === digest);
  if (at !== output.length || !isWhole) throw tooMuch();
  return made;
};

/** The output of a process by its end. Throws if it could not do its work, whatever the picture. */
const outputOf = async (program: string, timeout: Milliseconds, file: readonly Buffer[]): Promise<Buffer> => {
  const child = spawn(process.execPath, [`--max-old-space-size=${maxHeap}`, program], {
    env: {},
    stdio: 'pipe',
    timeout,
    killSignal: 'SIGKILL',
  });
  const closed = once(child, 'close') as Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  // Without a process there are no streams either.
  if (child.pid === undefined) await closed;
  // It may end before it has read everything.
  pipeline(file, child.stdin).catch(() => undefined);
  const pieces: Buffer[] = [];
  let length = 0;
  child.stdout.on('data', (piece: Buffer) => {
    pieces.push(piece);
    length += piece.length;
    if (length > maxOutput) child.kill('SIGKILL');
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-1_000);
  });
  const [code] = await closed;
  const output = Buffer.concat(pieces);
  // It has no code where a signal ended it.
  if (code !== null && code !== 0 && !output.includes('\n'))
    throw new Error(`${program} ended with code ${code}: ${complaint}`);
  return output;
};
