import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { derivedUuid } from '../../domain/ids.js';

/** RFC 9562, section 5.5, written out. */
const version5 = (name: string): string => {
  const bytes = createHash('sha1')
    .update(Buffer.from('7b0f5c0e6a5d4c2f9c1b3f4f0d9a1e57', 'hex'))
    .update(name)
    .digest();
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

describe('a derived id', () => {
  it('is the same forever', () => {
    expect(derivedUuid('card-HC-7K3M9Q2', 'a command', 0)).to.equal(
      version5('["card-HC-7K3M9Q2","a command",0]'),
    );
    expect(derivedUuid('demo organization')).to.equal('ef8b11f0-dce7-5b27-b046-d3ae0cf5b3b5');
  });

  it('is the name-based UUID (version 5) of its parts, whatever they are and however long', () => {
    for (const name of [
      '',
      'a',
      'grüße 🎉',
      'x'.repeat(600),
      'x'.repeat(700),
      'ü'.repeat(1_000),
      '🎉'.repeat(5_000),
    ]) {
      expect(derivedUuid(name, 7)).to.equal(version5(JSON.stringify([name, 7])));
    }
  });

  it('has exactly the variant digits 8, 9, a and b', () => {
    const variants = new Set(
      Array.from({ length: 100 }, (_, index) => derivedUuid('variant', index).charAt(19)),
    );
    expect([...variants].toSorted()).to.deep.equal(['8', '9', 'a', 'b']);
  });
});
