import type { Artwork, Pictures, PictureSize, StoredArtwork } from '../../../application/ports/artwork.js';
import type { Clock } from '../../../application/ports/system.js';
import type { ArtworkDigest } from '../../../domain/artwork.js';
import type { Milliseconds } from '../../../domain/ids.js';

/** Pictures in memory. */
export class MemoryArtwork implements Artwork {
  readonly #fronts = new Map<ArtworkDigest, { readonly pictures: Pictures; readonly putAt: Milliseconds }>();

  constructor(private readonly clock: Clock) {}

  async put(digest: ArtworkDigest, pictures: Pictures): Promise<void> {
    const known = this.#fronts.get(digest)?.pictures ?? pictures;
    this.#fronts.set(digest, { pictures: known, putAt: this.clock.now() });
  }

  async renew(digest: ArtworkDigest): Promise<boolean> {
    const known = this.#fronts.get(digest);
    if (known !== undefined) await this.put(digest, known.pictures);
    return known !== undefined;
  }

  async get(digest: ArtworkDigest, size: PictureSize): Promise<Buffer | null> {
    return this.#fronts.get(digest)?.pictures[size] ?? null;
  }

  async remove(digest: ArtworkDigest, putBefore: Milliseconds): Promise<void> {
    if ((this.#fronts.get(digest)?.putAt ?? putBefore) < putBefore) this.#fronts.delete(digest);
  }

  async *list(): AsyncGenerator<StoredArtwork> {
    for (const [digest, { putAt }] of this.#fronts) yield { digest, putAt };
  }

  async removeUnfinished(): Promise<void> {
    // A put is whole.
  }
}
