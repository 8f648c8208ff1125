import { expect } from 'chai';
import { OrganizationId, streamName } from '../../domain/ids.js';
import { entryBytes, entryHash, ImpossibleEntry, type LogEntry } from '../../domain/log-entry.js';
import { leafHash } from '../../domain/merkle.js';

const entry: LogEntry = {
  stream: streamName('card', 'HC-7K3M9QX'),
  revision: 3,
  hash: 'ab'.repeat(32),
  org: OrganizationId.parse('6c0f6a3e-0000-4000-8000-000000000001'),
  orgSeq: 412,
};

describe('the entry of an event in the log of the log', () => {
  it('consists of six lines', () => {
    const text = `handwritten-card-service/event/v1
card-HC-7K3M9QX
3
${'ab'.repeat(32)}
6c0f6a3e-0000-4000-8000-000000000001
412
`;
    expect(entryBytes(entry).toString()).to.equal(text);
    expect(entryHash(entry)).to.deep.equal(leafHash(Buffer.from(text)));
  });

  it('has an empty line in place of an organization that the event has none of', () =>
    expect(
      entryBytes({ ...entry, org: null })
        .toString()
        .split('\n')[4],
    ).to.equal(''));

  it('is refused with a line break in a name, and over 1 KiB', () => {
    const broken = [
      { ...entry, stream: streamName('card', 'HC-7K3M9QX\n4') },
      { ...entry, hash: `${'ab'.repeat(31)}\n` },
      { ...entry, org: OrganizationId.parse('a\n1') },
      { ...entry, stream: streamName('card', 'x'.repeat(1024)) },
    ];
    for (const each of broken) expect(() => entryBytes(each)).to.throw(ImpossibleEntry);
  });
});
