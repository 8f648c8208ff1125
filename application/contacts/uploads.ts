import { DomainError } from '../../domain/errors.js';
import type { Milliseconds, OrganizationId } from '../../domain/ids.js';
import { house } from '../../domain/members.js';
import { countTries } from '../access/count-tries.js';
import type { RateLimiter } from '../ports/rate-limiter.js';
import type { Clock } from '../ports/system.js';

/** How many files an organization may have at work or waiting, and a process may be reading for all. */
export const maxFiles = { ofOrganization: 3, ofProcess: 6 };
/** A file that has come so slowly for so long gives way to that of an organization without a place. */
const slow = { bytesPerMs: 64, after: 10_000 };
/** Files are counted in pieces of this many bytes, begun ones too, and an empty file as one. */
const piece = 8 * 1024 * 1024;
/** Of an organization, in a clock minute. */
const maxPieces = 12;

interface Reading {
  readonly org: OrganizationId;
  readonly began: Milliseconds;
  bytes: number;
  /** For how long it was waited for, without the current wait. */
  waited: Milliseconds;
  /** Since when it is waited for; null while it is worked on, or once all of it is there. */
  since: Milliseconds | null;
}

/** The place of a file. */
export interface UploadPlace {
  /** The same pieces, counted for their organization. Throws `rate_limited` once it has had too many. */
  readonly counted: (pieces: AsyncIterable<Buffer>) => AsyncGenerator<Buffer>;
  readonly end: () => void;
}

/** The files that this process is reading. */
export class Uploads {
  readonly #files = new Set<Reading>();

  constructor(private readonly deps: { readonly rateLimiter: RateLimiter; readonly clock: Clock }) {}

  /**
   * Takes a place for a file of an organization before any of it is read. Throws `rate_limited` if there is
   * none; it is free again after `end`.
   */
  begin(org: OrganizationId): UploadPlace {
    const own = [...this.#files].filter((file) => file.org === org).length;
    if (own >= maxFiles.ofOrganization) throw tooMany();
    const free = maxFiles.ofProcess + (org === house ? 1 : 0) - this.#files.size;
    // An organization that has places leaves as many to others.
    if (free <= own && (own > 0 || !this.#endSlowest()))
      throw new DomainError('rate_limited', 'Many files are being uploaded just now. Wait a minute.', 'file');
    const now = this.deps.clock.monotonic();
    const file: Reading = { org, began: now, bytes: 0, waited: 0, since: now };
    this.#files.add(file);
    return { counted: (pieces) => this.#counted(file, pieces), end: () => void this.#files.delete(file) };
  }

  /** Takes its place from the slowest file, if one is too slow. */
  #endSlowest(): boolean {
    const now = this.deps.clock.monotonic();
    const [slowest] = [...this.#files]
      .filter(({ began, since }) => since !== null && now - began > slow.after)
      .map((file) => ({ file, pace: file.bytes / Math.max(1, file.waited + now - (file.since ?? now)) }))
      .filter(({ pace }) => pace < slow.bytesPerMs)
      .sort((one, other) => one.pace - other.pace);
    return slowest !== undefined && this.#files.delete(slowest.file);
  }

  async *#counted(file: Reading, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const { org } = file;
    const count = () => countTries(this.deps, { [`uploads of ${org}`]: maxPieces }, tooMuch);
    await count();
    let left = piece;
    for await (const each of pieces) {
      if (!this.#files.has(file)) throw new DomainError('rate_limited', tooSlow, 'file');
      const now = this.deps.clock.monotonic();
      file.bytes += each.length;
      file.waited += now - (file.since ?? now);
      file.since = null;
      for (left -= each.length; left < 0; left += piece) await count();
      yield each;
      file.since = this.deps.clock.monotonic();
    }
    file.since = null;
  }
}

const tooMuch = `Within a minute, ${maxPieces} files or ${(maxPieces * piece) / 1024 / 1024} MiB may be uploaded. Wait a minute.`;

const tooSlow = 'This file came so slowly that another one got its place. Send it again.';

/** As many files of the organization are under way as may be. */
export const tooMany = (): DomainError =>
  new DomainError(
    'rate_limited',
    `${maxFiles.ofOrganization} files are being imported or uploaded. Wait until one of them is done.`,
    'file',
  );
