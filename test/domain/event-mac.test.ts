import { expect } from 'chai';
import { createHmac, hkdfSync } from 'node:crypto';
import { eventMacs, macKeyId } from '../../domain/event-mac.js';
import type { MasterKey } from '../../domain/webhook-signing.js';

const hash = 'ab'.repeat(32);
const key = (id: string, byte: number): MasterKey => ({ id, key: Buffer.alloc(32, byte) });
const [older, newest] = [key('older', 1), key('newest', 2)];

describe('the MAC of an event', () => {
  it('is HMAC-SHA-256 over the bytes of its hash, with a key derived for that purpose alone', () => {
    const derived = hkdfSync('sha256', older.key, '', 'handwritten-card-service/event-mac/v1', 32);
    const mac = createHmac('sha256', Buffer.from(derived))
      .update(Buffer.from(hash, 'hex'))
      .digest('base64url');
    expect(eventMacs([older]).sign(hash)).to.equal(`older:${mac}`);
    expect(macKeyId(`older:${mac}`)).to.equal('older');
  });

  it('is made with the newest key, and verified with the one that it names', () => {
    const before = eventMacs([older]).sign(hash);
    const { sign, verifies } = eventMacs([newest, older]);
    expect(macKeyId(sign(hash))).to.equal('newest');
    expect([before, sign(hash)].map((mac) => verifies(hash, mac, true))).to.deep.equal([true, true]);
  });

  it('is wrong for every other hash, key and text, and unknown with a key that is not there', () => {
    const { sign, verifies } = eventMacs([newest, older]);
    const mac = sign(hash);
    const another = eventMacs([key('newest', 3)]).sign(hash);
    const wrong = [
      another,
      sign('cd'.repeat(32)),
      mac.replace('newest', 'older'),
      mac.slice(0, -1),
      `${mac}=`,
      'newest:',
    ];
    expect(wrong.map((each) => verifies(hash, each, false))).to.deep.equal(wrong.map(() => false));
    expect(['strange:AAAA', ':', ''].map((each) => verifies(hash, each, false))).to.deep.equal([
      null,
      null,
      null,
    ]);
  });

  it('is of a whole hash alone, and of nothing that is left of the one before', () => {
    const { sign, verifies } = eventMacs([newest]);
    const mac = sign(hash);
    for (const part of ['', hash.slice(0, -2), 'ab'])
      for (const use of [() => sign(part), () => verifies(part, mac, false)])
        expect(use).to.throw(RangeError);
    expect(sign(hash)).to.equal(mac);
  });

  it('counts with a retired key only for what was signed before', () => {
    const mac = eventMacs([older]).sign(hash);
    const { verifies } = eventMacs([newest, { ...older, isRetired: true }]);
    expect([verifies(hash, mac, false), verifies(hash, mac, true)]).to.deep.equal([true, false]);
  });
});
