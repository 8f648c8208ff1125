import { expect } from 'chai';
import { LocalRateLimiter } from '../../../adapters/system/rate-limiter.js';
import { maxFiles, Uploads } from '../../../application/contacts/uploads.js';
import { OrganizationId } from '../../../domain/ids.js';
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
    return { clock, uploads: new Uploads({ rateLimiter: new LocalRateLimiter(), clock }) };
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

  it('may have 96 MiB a minute of an organization, and each counts as 8 MiB at least', async () => {
    const { uploads, clock } = start();
    for (let files = 0; files < 2; files += 1)
      expect(await lengthOf(uploads.counted(org, file(32)))).to.equal(32);
    for (const megabytes of [1, 1, 0, 0])
      expect(await lengthOf(uploads.counted(org, file(megabytes)))).to.equal(megabytes);
    expect(await lengthOf(uploads.counted(org, file(0))).catch(String)).to.include('12 files or 96 MiB');
    expect(await lengthOf(uploads.counted(org, file(1))).catch(String)).to.include('12 files or 96 MiB');
    expect(await lengthOf(uploads.counted(other, file(1)))).to.equal(1);
    clock.set('2026-03-02T14:06:00.000Z');
    expect(await lengthOf(uploads.counted(org, file(32)))).to.equal(32);
  });
});
