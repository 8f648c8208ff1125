import type { Hash } from '../../domain/merkle.js';
import type { Witness } from '../../domain/log-policy.js';
import { openNote, withSignatures, type NoteSignature } from '../../domain/signed-note.js';
import { consistencyProof } from './log-proofs.js';
import type { KnownHead } from './notarize.js';
import type { Checkpoint, LogTiles } from '../ports/log-tiles.js';
import type { AskWitness } from '../ports/witnesses.js';

export interface WitnessingDeps {
  readonly tiles: Pick<LogTiles, 'hashes' | 'keep'>;
  readonly witnesses: readonly Witness[];
  readonly ask: AskWitness;
  readonly report: (error: unknown) => void;
}

/** A witness has signed a larger tree than this log has, or another one of the same size. */
export class ContradictedByWitness extends Error {
  override readonly name = 'ContradictedByWitness';

  constructor(name: string, size: number, own: number) {
    super(
      `The witness ${name} has signed a tree of ${size} events, and this log's checkpoint of ${own} does not go with it: the log was set back, or changed.`,
    );
  }
}

/**
 * Brings checkpoints to witnesses, one at a time; of those that come meanwhile only the newest. Their
 * signatures are kept with the checkpoint.
 */
export class Witnessing {
  readonly #deps: WitnessingDeps;
  /** The size that each witness has signed last, as far as is known. */
  readonly #signed = new Map<string, number>();
  #next: Checkpoint | null = null;
  #working: Promise<void> | null = null;

  constructor(deps: WitnessingDeps) {
    this.#deps = deps;
  }

  /** Takes a checkpoint that is kept. */
  offer(checkpoint: Checkpoint, signal: AbortSignal): void {
    if (this.#deps.witnesses.every(({ url }) => url === null)) return;
    this.#next = checkpoint;
    this.#working ??= this.#work(signal).finally(() => (this.#working = null));
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await this.#working;
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (let taken = this.#next; taken !== null && !signal.aborted; taken = this.#next) {
      this.#next = null;
      const checkpoint = taken;
      const found = await Promise.all(
        this.#deps.witnesses.map((each) =>
          this.#ask(each, checkpoint, signal).catch((error: unknown) => {
            this.#deps.report(error);
            return [];
          }),
        ),
      );
      const signatures = found.flat();
      if (signatures.length === 0) continue;
      const note = withSignatures(checkpoint.note, signatures);
      await this.#deps.tiles.keep({ ...checkpoint, note }).catch(this.#deps.report);
    }
  }

  async #ask(
    { key, url }: Witness,
    { size, note }: Pick<Checkpoint, 'size' | 'note'>,
    signal: AbortSignal,
    isSecond = false,
  ): Promise<readonly NoteSignature[]> {
    if (url === null) return [];
    const old = this.#signed.get(key.name) ?? 0;
    const proof = old === 0 || old === size ? [] : await consistencyProof(this.#deps.tiles, old, size);
    const asked = await this.#deps.ask(url, { old, proof, note }, signal);
    if (asked.kind === 'at') {
      if (asked.size > size || (asked.size === old && isSecond))
        throw new ContradictedByWitness(key.name, asked.size, size);
      this.#signed.set(key.name, asked.size);
      return isSecond ? [] : this.#ask({ key, url }, { size, note }, signal, true);
    }
    const own = asked.signatures.filter(({ name, id }) => name === key.name && id === key.id);
    openNote(withSignatures(note, own), [key]);
    this.#signed.set(key.name, size);
    return own;
  }
}

const ofNoTree: Hash = Buffer.alloc(0);

/**
 * What witnesses have signed, as far as they say it: the size. They are asked with the newest checkpoint that
 * is kept; one that can't be reached is reported, and says nothing.
 */
export const headsOfWitnesses = async (
  { witnesses, ask, report }: Omit<WitnessingDeps, 'tiles'>,
  newest: Pick<Checkpoint, 'size' | 'note'> | null,
  signal: AbortSignal,
): Promise<readonly KnownHead[]> => {
  if (newest === null) return [];
  const { size, note } = newest;
  const headOf = async ({ url }: Witness): Promise<readonly KnownHead[]> => {
    if (url === null) return [];
    const asked = await ask(url, { old: size, proof: [], note }, signal);
    if (asked.kind === 'signed') return [];
    // It has signed a tree of this size already, and it was another one.
    return [{ size: asked.size, root: asked.size === size ? ofNoTree : null }];
  };
  const found = await Promise.all(
    witnesses.map((each) =>
      headOf(each).catch((error: unknown) => {
        report(error);
        return [];
      }),
    ),
  );
  return found.flat();
};
