import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SeededEntropy } from '../support/memory/entropy.js';
import { Disk, losses, type Loss } from './disk.js';
import { scratch, type Recording } from './recording.js';
import { reopening, type Known } from './reopen.js';

/** A power loss that left something that must not be. */
export interface Failure {
  readonly cut: number;
  /** How many operations were done. */
  readonly after: number;
  readonly loss: Loss;
  readonly wrong: readonly string[];
  /** Where the files are as the power left them, for the first failures; else null. */
  readonly kept: string | null;
}

export interface Cuts {
  readonly made: number;
  readonly failures: readonly Failure[];
}

interface Cut {
  readonly number: number;
  readonly after: number;
  readonly loss: Loss;
}

/** First one right before and one right after each sync, with every way to lose; the rest anywhere. */
const planned = (
  { operations }: Recording,
  { from, count, seed }: { readonly from: number; readonly count: number; readonly seed: number },
): readonly Cut[] => {
  const syncs = operations.flatMap(({ kind }, index) =>
    kind === 'sync' || kind === 'sync directory' ? [index, index + 1] : [],
  );
  return Array.from({ length: count }, (_, index) => {
    const number = from + index;
    const dice = new SeededEntropy(seed ^ Math.imul(number + 1, 0x9e3779b1));
    const atSync = syncs[number % (2 * syncs.length)];
    return {
      number,
      after: atSync ?? dice.below(operations.length + 1),
      loss: losses[dice.below(losses.length)] ?? 'nothing',
    };
  }).toSorted((a, b) => a.after - b.after);
};

/** What responses had acknowledged, as operations go by. */
class Acknowledged {
  #known: Known = { position: 0, isAnswered: false };
  readonly #positions = new Map<string, number>();

  constructor({ log }: Recording) {
    for (const { metadata, position } of log)
      if (metadata.requestId !== null) this.#positions.set(metadata.requestId, Number(position));
  }

  answered(request: string): void {
    const position = Math.max(this.#known.position, this.#positions.get(request) ?? 0);
    this.#known = { position, isAnswered: true };
  }

  get known(): Known {
    return this.#known;
  }
}

/** SQLite makes it anew from the write-ahead log. */
const isSharedMemory = (path: string): boolean => path.endsWith('-shm');

const lay = (directory: string, files: ReadonlyMap<string, Buffer>): void => {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { mode: 0o700 });
  for (const [path, content] of files)
    if (!isSharedMemory(path)) writeFileSync(join(directory, path), content, { mode: 0o600 });
};

export const described = ({ cut, after, loss, wrong, kept }: Failure): string =>
  `cut ${cut} after operation ${after}, losing ${loss}: ${wrong.join('; ')}${kept === null ? '' : ` (what is left: ${kept})`}`;

/**
 * Lets the power fail `count` times in a recording, and opens what is left each time. Ends after some
 * failures.
 */
export const cutPower = async (
  recording: Recording,
  options: {
    readonly from?: number;
    readonly count: number;
    readonly seed: number;
    readonly failures?: number;
    /** Of how many failures the files are kept. */
    readonly keep?: number;
  },
): Promise<Cuts> => {
  const { from = 0, failures: most = 10, keep = 0 } = options;
  const place = await scratch();
  const directory = join(place, 'data');
  const disk = new Disk();
  const acknowledged = new Acknowledged(recording);
  const reopen = reopening(recording);
  const failures: Failure[] = [];
  let [done, made] = [0, 0];
  try {
    for (const { number, after, loss } of planned(recording, { ...options, from })) {
      for (; done < after; done += 1) {
        const operation = recording.operations[done];
        if (operation === undefined) break;
        disk.apply(operation);
        if (operation.kind === 'answered') acknowledged.answered(operation.request);
      }
      const files = disk.cut(loss, new SeededEntropy(options.seed + number));
      lay(directory, files);
      made += 1;
      const wrong = await reopen(directory, acknowledged.known);
      if (wrong.length > 0) {
        const kept = failures.length < keep ? join(await scratch(), 'data') : null;
        if (kept !== null) lay(kept, files);
        failures.push({ cut: number, after, loss, wrong, kept });
      }
      if (failures.length >= most) break;
    }
    return { made, failures };
  } finally {
    await rm(place, { recursive: true, force: true });
  }
};
