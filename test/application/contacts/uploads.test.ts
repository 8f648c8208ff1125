import { expect } from 'chai';
import { LocalRateLimiter } from '../../../adapters/system/rate-limiter.js';
import { maxFiles, Uploads } from '../../../application/contacts/uploads.js';
import { OrganizationId } from '../../../domain/ids.js';
import { house } from '../../../domain/members.js';
import { settableClock } from '../../support/http/http.js';

const orgs = Array.from({ length: 9 }, (_, at) =>
  OrganizationId.parse(`6c0f6a3e-0000-4000-8000-00000000000${at}`),
);
const [org = OrganizationId.parse(''), other = org] = orgs;
const mebibyte = Buffer.alloc(1024 * 1024);

async function* file(mebibytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < mebibytes; at += 1) yield mebibyte;
}

const lengthOf = async (pieces: AsyncIterable<Buffer>): Promise<number> => {
  let length = 0;
  for await (const piece of pieces) length += piece.length / mebibyte.length;
  return length;
};

describe('the files that a process reads', () => {
  const start = () => {
    const clock = settableClock('2026-03-02T14:05:00.000Z');
    const uploads = new Uploads({ rateLimiter: new LocalRateLimiter(), clock });
    const read = async function* (by: OrganizationId, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      const place = uploads.begin(by);
      try {
        yield* place.counted(pieces);
      } finally {
        place.end();
      }
    };
    return { clock, uploads, read };
  };

  it('are three of an organization at once, and a place is free again when one is over', () => {
    const { uploads } = start();
    const places = Array.from({ length: maxFiles.ofOrganization }, () => uploads.begin(org));
    expect(() => uploads.begin(org)).to.throw('3 files are being imported');
    uploads.begin(other);
    places[0]?.end();
    uploads.begin(org);
    expect(() => uploads.begin(org)).to.throw('3 files are being imported');
  });

  it('are six at once, whosever they are', () => {
    const { uploads } = start();
    for (const each of orgs.slice(0, maxFiles.ofProcess)) uploads.begin(each);
    expect(() => uploads.begin(orgs.at(-1) ?? org)).to.throw('Many files are being uploaded');
  });

  it('leave a place to others, however many two organizations take', () => {
    const { uploads } = start();
    for (let files = 0; files < maxFiles.ofOrganization; files += 1) uploads.begin(org);
    uploads.begin(other);
    uploads.begin(other);
    expect(() => uploads.begin(other)).to.throw('Many files are being uploaded');
    expect(() => uploads.begin(orgs.at(-1) ?? org)).not.to.throw();
  });

  it('leave a place to the house, however many take the others', () => {
    const { uploads } = start();
    for (const each of orgs.slice(0, maxFiles.ofProcess)) uploads.begin(each);
    expect(() => uploads.begin(house)).not.to.throw();
    expect(() => uploads.begin(house)).to.throw('Many files are being uploaded');
  });

  it('give way to another organization where one comes slowly, the slowest first', async () => {
    const { uploads, clock } = start();
    const kibibyte = Buffer.alloc(1024);
    let goOn = (): void => undefined;
    const stall = new Promise<void>((resolve) => (goOn = resolve));
    const stalling = async function* (kibibytes: number): AsyncGenerator<Buffer> {
      for (let at = 0; at < kibibytes; at += 1) yield kibibyte;
      await stall;
      yield kibibyte;
    };
    const reading = [700, 20, 30, 700, 700, 700].map((kibibytes, at) =>
      lengthOf(uploads.begin(orgs[at] ?? org).counted(stalling(kibibytes))).catch(String),
    );
    await new Promise(setImmediate);
    const newcomer = orgs.at(-1) ?? org;
    expect(() => uploads.begin(newcomer)).to.throw('Many files are being uploaded');
    clock.pass(10_001);
    uploads.begin(newcomer);
    goOn();
    const ends = await Promise.all(reading);
    expect(ends.map((end) => String(end).includes('came so slowly'))).to.deep.equal([
      false,
      true,
      false,
      false,
      false,
      false,
    ]);
    // All of the others are there, so none of them is slow any more.
    expect(() => uploads.begin(orgs[7] ?? org)).to.throw('Many files are being uploaded');
  });

  it('may have 96 MiB a minute of an organization, and each counts as 8 MiB at least', async () => {
    const { read, clock } = start();
    for (let files = 0; files < 2; files += 1) expect(await lengthOf(read(org, file(32)))).to.equal(32);
    for (const megabytes of [1, 1, 0, 0])
      expect(await lengthOf(read(org, file(megabytes)))).to.equal(megabytes);
    expect(await lengthOf(read(org, file(0))).catch(String)).to.include('12 files or 96 MiB');
    expect(await lengthOf(read(org, file(1))).catch(String)).to.include('12 files or 96 MiB');
    expect(await lengthOf(read(other, file(1)))).to.equal(1);
    clock.set('2026-03-02T14:06:00.000Z');
    expect(await lengthOf(read(org, file(32)))).to.equal(32);
  });
});
