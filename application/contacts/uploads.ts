import { DomainError } from '../../domain/errors.js';
import type { OrganizationId } from '../../domain/ids.js';
import { countTries } from '../access/count-tries.js';
import type { RateLimiter } from '../ports/rate-limiter.js';
import type { Clock } from '../ports/system.js';

/** How many files an organization may have at work or waiting, and a process may be reading. */
export const maxFiles = { ofOrganization: 3, ofProcess: 6 };
/** Files are counted in pieces of this many bytes, begun ones too, and an empty file as one. */
const piece = 8 * 1024 * 1024;
/** Of an organization, in a clock minute. */
const maxPieces = 12;

/** The files that this process is reading. */
export class Uploads {
  readonly #orgs: OrganizationId[] = [];

  constructor(private readonly deps: { readonly rateLimiter: RateLimiter; readonly clock: Clock }) {}

  /**
   * Takes a place for a file of an organization before any of it is read. Throws `rate_limited` if there is
   * none; it is free again after `end`.
   */
  begin(org: OrganizationId): { readonly end: () => void } {
    const own = this.#orgs.filter((each) => each === org).length;
    if (own >= maxFiles.ofOrganization) throw tooMany();
    // An organization that has places leaves as many to others.
    if (maxFiles.ofProcess - this.#orgs.length <= own)
      throw new DomainError('rate_limited', 'Many files are being uploaded just now. Wait a minute.', 'file');
    this.#orgs.push(org);
    return { end: () => void this.#orgs.splice(this.#orgs.indexOf(org), 1) };
  }

  /** The same pieces, counted for their organization. Throws `rate_limited` once it has had too many. */
  async *counted(org: OrganizationId, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    const count = () => countTries(this.deps, { [`uploads of ${org}`]: maxPieces }, tooMuch);
    await count();
    let left = piece;
    for await (const each of pieces) {
      for (left -= each.length; left < 0; left += piece) await count();
      yield each;
    }
  }
}

const tooMuch = `Within a minute, ${maxPieces} files or ${(maxPieces * piece) / 1024 / 1024} MiB may be uploaded. Wait a minute.`;

/** As many files of the organization are under way as may be. */
export const tooMany = (): DomainError =>
  new DomainError(
    'rate_limited',
    `${maxFiles.ofOrganization} files are being imported or uploaded. Wait until one of them is done.`,
    'file',
  );
