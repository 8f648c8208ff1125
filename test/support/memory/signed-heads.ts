import type { Milliseconds } from '../../../domain/ids.js';
import type { SignedHead, SignedHeads } from '../../../application/ports/signed-heads.js';

/** The last signed head, where notes are `{size} {root in base64}`. Tests may look at it and change it. */
export class MemorySignedHeads implements SignedHeads {
  readonly place = 'the memory';
  note: string | null = null;

  async last(): Promise<SignedHead | null> {
    const { note } = this;
    if (note === null) return null;
    const [size = '', root = ''] = note.split(' ');
    return { size: Number(size), root: Buffer.from(root, 'base64'), note };
  }

  async since(): Promise<Milliseconds | null> {
    return this.note === null ? null : 0;
  }

  async keep(note: string): Promise<void> {
    this.note = note;
  }

  isOurs(note: string): boolean {
    return /^\d+ /.test(note);
  }
}
